// Buys one eSIM and prints the answer. Usage: dotnet run Order.cs -- PACKAGE_CODE TRANSACTION_ID
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
using System;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Threading.Tasks;

static class Order
{
    static readonly string AppKey = Environment.GetEnvironmentVariable("DEALER_ESIM_APP_KEY") ?? "";
    static readonly string AppSecret = Environment.GetEnvironmentVariable("DEALER_ESIM_APP_SECRET") ?? "";
    static readonly string Url = Environment.GetEnvironmentVariable("DEALER_ESIM_BASE_URL") + "/open-api/v1/esim/order";
    static readonly HttpClient Client =
        new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromSeconds(30) };

    static int Main(string[] args)
    {
        return Run(args).GetAwaiter().GetResult();
    }

    static async Task<int> Run(string[] args)
    {
        if (args.Length != 2)
        {
            Console.Error.WriteLine("Usage: dotnet run Order.cs -- PACKAGE_CODE TRANSACTION_ID");
            return 2;
        }
        // Use a JSON serializer here. Serialise once: the bytes that are signed are the bytes that are sent.
        var text = $"{{\"transactionId\":\"{args[1]}\",\"packageInfoList\":[{{\"packageCode\":\"{args[0]}\",\"count\":1}}]}}";
        var body = Encoding.UTF8.GetBytes(text);

        // The body, including the transactionId, is the same for all attempts, so nothing is bought twice.
        for (var number = 1; ; number++)
        {
            var wait = TimeSpan.FromSeconds(number);
            try
            {
                using (var answer = await Client.SendAsync(Request(body)))
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
                            return 1;
                        }
                        Console.WriteLine(received);
                        return code == "000000" ? 0 : 1;
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
    static HttpRequestMessage Request(byte[] body)
    {
        var timestamp = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds().ToString();
        var requestId = Guid.NewGuid().ToString();
        var request = new HttpRequestMessage(HttpMethod.Post, Url) { Content = new ByteArrayContent(body) };
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
