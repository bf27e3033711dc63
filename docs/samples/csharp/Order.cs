// Buys one eSIM and prints the answer. Usage: dotnet run Order.cs -- PACKAGE_CODE TRANSACTION_ID
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

if (args.Length != 2)
{
    Console.Error.WriteLine("Usage: dotnet run Order.cs -- PACKAGE_CODE TRANSACTION_ID");
    return 2;
}

var (packageCode, transactionId) = (args[0], args[1]);
var appKey = Environment.GetEnvironmentVariable("DEALER_ESIM_APP_KEY")!;
var key = Encoding.UTF8.GetBytes(Environment.GetEnvironmentVariable("DEALER_ESIM_APP_SECRET")!);
var url = Environment.GetEnvironmentVariable("DEALER_ESIM_BASE_URL") + "/open-api/v1/esim/order";
using var client = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromSeconds(30) };

// Use a JSON serializer here. Serialise once: the bytes that are signed are the bytes that are sent.
var body = Encoding.UTF8.GetBytes(
    $$"""{"transactionId":"{{transactionId}}","packageInfoList":[{"packageCode":"{{packageCode}}","count":1}]}""");

// The body, including the transactionId, is the same for all attempts, so nothing is bought twice.
for (var number = 1; ; number++)
{
    var wait = TimeSpan.FromSeconds(number);
    try
    {
        using var answer = await client.SendAsync(Request());
        var text = await answer.Content.ReadAsStringAsync();
        var code = CodeOf(text);
        // 101006: a proxy or library repeated the request.
        var again = (int)answer.StatusCode is 429 or >= 500 || code == "101006";
        if (!again || number == 4)
        {
            if (code == "")
            {
                Console.Error.WriteLine($"HTTP {(int)answer.StatusCode}: this is not an answer of a gateway. Repeat with the same transactionId.");
                return 1;
            }
            Console.WriteLine(text);
            return code == "000000" ? 0 : 1;
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
HttpRequestMessage Request()
{
    var timestamp = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds().ToString();
    var requestId = Guid.NewGuid().ToString();
    byte[] text = [.. Encoding.UTF8.GetBytes(timestamp + requestId + appKey), .. body];
    var request = new HttpRequestMessage(HttpMethod.Post, url) { Content = new ByteArrayContent(body) };
    request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
    request.Headers.Add("RT-AccessCode", appKey);
    request.Headers.Add("RT-RequestID", requestId);
    request.Headers.Add("RT-Timestamp", timestamp);
    request.Headers.Add("X-Signature", Convert.ToHexString(HMACSHA256.HashData(key, text)).ToLowerInvariant());
    return request;
}
