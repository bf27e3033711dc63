// Tops up or cancels an eSIM, waits for the result and prints it. An eSIM is named by its esimTranNo.
// Usage: dotnet run AfterSale.cs -- topup ESIM PACKAGE_CODE TRANSACTION_ID
//        dotnet run AfterSale.cs -- cancel ESIM TRANSACTION_ID
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. It calls as Order.cs does.
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

var isTopUp = args.Length == 4 && args[0] == "topup";
var isCancel = args.Length == 3 && args[0] == "cancel";
if (!isTopUp && !isCancel)
{
    Console.Error.WriteLine("Usage: dotnet run AfterSale.cs -- topup ESIM PACKAGE_CODE TRANSACTION_ID");
    Console.Error.WriteLine("       dotnet run AfterSale.cs -- cancel ESIM TRANSACTION_ID");
    return 2;
}

var appKey = Environment.GetEnvironmentVariable("DEALER_ESIM_APP_KEY")!;
var key = Encoding.UTF8.GetBytes(Environment.GetEnvironmentVariable("DEALER_ESIM_APP_SECRET")!);
var baseUrl = Environment.GetEnvironmentVariable("DEALER_ESIM_BASE_URL") + "/open-api/v1/";
using var client = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromSeconds(30) };

// Use a JSON serializer here. Serialise once: the bytes that are signed are the bytes that are sent.
var transaction = $"\"transactionId\":\"{args[^1]}\"";
// An action is repeated in the body, because the signature does not cover the path.
var what = isTopUp ? $"\"packageCode\":\"{args[2]}\"" : "\"action\":\"CANCEL\"";
var text = await Call("esim/" + args[0], $"{{{transaction},{what},\"esimTranNo\":\"{args[1]}\"}}");
// Accepted is not done: the supplier is asked after the answer. A real shop waits for the event instead.
var member = isTopUp ? "orderStatus" : "actionStatus";
for (var number = 0; number < 30 && StatusOf(text, member) is "PAID" or "ALLOCATING" or "PENDING"; number++)
{
    await Task.Delay(TimeSpan.FromSeconds(1));
    text = await Call(isTopUp ? "esim/query" : "esim/action/query", $"{{{transaction}}}");
}
if (text == "")
{
    return 1;
}
Console.WriteLine(text);
return CodeOf(text) == "000000" && StatusOf(text, member) == (isTopUp ? "DELIVERED" : "DONE") ? 0 : 1;

// The body, including the transactionId, is the same for all attempts, so nothing happens twice. Empty without an answer.
async Task<string> Call(string operation, string content)
{
    var body = Encoding.UTF8.GetBytes(content);
    for (var number = 1; ; number++)
    {
        var wait = TimeSpan.FromSeconds(number);
        try
        {
            using var answer = await client.SendAsync(Request(operation, body));
            var received = await answer.Content.ReadAsStringAsync();
            var code = CodeOf(received);
            // 101006: a proxy or library repeated the request.
            var again = (int)answer.StatusCode is 429 or >= 500 || code == "101006";
            if (!again || number == 4)
            {
                if (code == "")
                {
                    Console.Error.WriteLine($"HTTP {(int)answer.StatusCode}: this is not an answer of a gateway. Repeat with the same transactionId.");
                    return "";
                }
                return received;
            }
            if (answer.Headers.RetryAfter?.Delta is { } asked && asked > wait)
            {
                wait = asked;
            }
        }
        catch (Exception fault) when (fault is HttpRequestException or TaskCanceledException && number < 4)
        {
            Console.Error.WriteLine(fault.Message);
        }
        await Task.Delay(wait);
    }
}

// Empty if the answer has no such member.
static string StatusOf(string text, string member)
{
    if (CodeOf(text) == "")
    {
        return "";
    }
    using var envelope = JsonDocument.Parse(text);
    return envelope.RootElement.GetProperty("data").TryGetProperty(member, out var status) ? status.GetString()! : "";
}

// Empty if the body is not an answer of a gateway, such as a proxy's page.
static string CodeOf(string text)
{
    try
    {
        using var envelope = JsonDocument.Parse(text);
        return envelope.RootElement.ValueKind == JsonValueKind.Object
            && envelope.RootElement.TryGetProperty("code", out var code)
            && code.ValueKind == JsonValueKind.String ? code.GetString()! : "";
    }
    catch (JsonException)
    {
        return "";
    }
}

// Uses a new RequestID and timestamp for each attempt: a RequestID is accepted once.
HttpRequestMessage Request(string operation, byte[] body)
{
    var timestamp = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds().ToString();
    var requestId = Guid.NewGuid().ToString();
    byte[] signed = [.. Encoding.UTF8.GetBytes(timestamp + requestId + appKey), .. body];
    var request = new HttpRequestMessage(HttpMethod.Post, baseUrl + operation) { Content = new ByteArrayContent(body) };
    request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
    request.Headers.Add("RT-AccessCode", appKey);
    request.Headers.Add("RT-RequestID", requestId);
    request.Headers.Add("RT-Timestamp", timestamp);
    request.Headers.Add("X-Signature", Convert.ToHexString(HMACSHA256.HashData(key, signed)).ToLowerInvariant());
    return request;
}
