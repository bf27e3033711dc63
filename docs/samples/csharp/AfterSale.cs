// Tops up or cancels an eSIM, waits for the result and prints it. An eSIM is named by its esimTranNo.
// Usage: dotnet run AfterSale.cs -- topup ESIM PACKAGE_CODE TRANSACTION_ID
//        dotnet run AfterSale.cs -- cancel ESIM TRANSACTION_ID
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. It calls as Order.cs does.
using System;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Threading.Tasks;

static class AfterSale
{
    static readonly string AppKey = Environment.GetEnvironmentVariable("DEALER_ESIM_APP_KEY") ?? "";
    static readonly string AppSecret = Environment.GetEnvironmentVariable("DEALER_ESIM_APP_SECRET") ?? "";
    static readonly string BaseUrl = Environment.GetEnvironmentVariable("DEALER_ESIM_BASE_URL") + "/open-api/v1/";
    static readonly HttpClient Client =
        new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromSeconds(30) };
    static readonly string[] Pending = { "PAID", "ALLOCATING", "PENDING" };

    static int Main(string[] args)
    {
        return Run(args).GetAwaiter().GetResult();
    }

    static async Task<int> Run(string[] args)
    {
        var isTopUp = args.Length == 4 && args[0] == "topup";
        var isCancel = args.Length == 3 && args[0] == "cancel";
        if (!isTopUp && !isCancel)
        {
            Console.Error.WriteLine("Usage: dotnet run AfterSale.cs -- topup ESIM PACKAGE_CODE TRANSACTION_ID");
            Console.Error.WriteLine("       dotnet run AfterSale.cs -- cancel ESIM TRANSACTION_ID");
            return 2;
        }
        // Use a JSON serializer here. Serialise once: the bytes that are signed are the bytes that are sent.
        var transaction = $"\"transactionId\":\"{args[args.Length - 1]}\"";
        // An action is repeated in the body, because the signature does not cover the path.
        var what = isTopUp ? $"\"packageCode\":\"{args[2]}\"" : "\"action\":\"CANCEL\"";
        var text = await Call("esim/" + args[0], $"{{{transaction},{what},\"esimTranNo\":\"{args[1]}\"}}");
        // Accepted is not done: the supplier is asked after the answer. A real shop waits for the event instead.
        var member = isTopUp ? "orderStatus" : "actionStatus";
        for (var number = 0; number < 30 && Pending.Contains(StatusOf(text, member)); number++)
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
    }

    // The body, including the transactionId, is the same for all attempts, so nothing happens twice. Empty without an answer.
    static async Task<string> Call(string operation, string content)
    {
        var body = Encoding.UTF8.GetBytes(content);
        for (var number = 1; ; number++)
        {
            var wait = TimeSpan.FromSeconds(number);
            try
            {
                using (var answer = await Client.SendAsync(Request(operation, body)))
                {
                    var received = await answer.Content.ReadAsStringAsync();
                    var status = (int)answer.StatusCode;
                    var code = CodeOf(received);
                    // 101006: a proxy or library repeated the request.
                    var again = status == 429 || status >= 500 || code == "101006";
                    if (!again || number == 4)
                    {
                        if (code == "")
                        {
                            Console.Error.WriteLine($"HTTP {status}: this is not an answer of a gateway. Repeat with the same transactionId.");
                            return "";
                        }
                        return received;
                    }
                    var asked = answer.Headers.RetryAfter?.Delta ?? wait;
                    wait = asked > wait ? asked : wait;
                }
            }
            catch (Exception fault) when (number < 4 && (fault is HttpRequestException || fault is TaskCanceledException))
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
        using (var envelope = JsonDocument.Parse(text))
        {
            JsonElement status;
            return envelope.RootElement.GetProperty("data").TryGetProperty(member, out status) ? status.GetString() ?? "" : "";
        }
    }

    // Empty if the body is not an answer of a gateway, such as a proxy's page.
    static string CodeOf(string text)
    {
        try
        {
            using (var envelope = JsonDocument.Parse(text))
            {
                JsonElement code;
                return envelope.RootElement.ValueKind == JsonValueKind.Object
                    && envelope.RootElement.TryGetProperty("code", out code)
                    && code.ValueKind == JsonValueKind.String ? code.GetString() ?? "" : "";
            }
        }
        catch (JsonException)
        {
            return "";
        }
    }

    // Uses a new RequestID and timestamp for each attempt: a RequestID is accepted once.
    static HttpRequestMessage Request(string operation, byte[] body)
    {
        var timestamp = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds().ToString();
        var requestId = Guid.NewGuid().ToString();
        var request = new HttpRequestMessage(HttpMethod.Post, BaseUrl + operation) { Content = new ByteArrayContent(body) };
        request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
        request.Headers.Add("RT-AccessCode", AppKey);
        request.Headers.Add("RT-RequestID", requestId);
        request.Headers.Add("RT-Timestamp", timestamp);
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(AppSecret)))
        {
            var signed = Encoding.UTF8.GetBytes(timestamp + requestId + AppKey).Concat(body).ToArray();
            var signature = BitConverter.ToString(hmac.ComputeHash(signed)).Replace("-", "").ToLowerInvariant();
            request.Headers.Add("X-Signature", signature);
        }
        return request;
    }
}
