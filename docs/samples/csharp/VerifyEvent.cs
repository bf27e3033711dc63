// Is this event genuine? The body comes on standard input, byte for byte as it arrived.
// Usage: dotnet run VerifyEvent.cs -- WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
using System.Security.Cryptography;
using System.Text;

using var input = new MemoryStream();
await Console.OpenStandardInput().CopyToAsync(input);
var genuine = Verify(Environment.GetEnvironmentVariable("DEALER_ESIM_APP_SECRET")!, args[0], args[1], args[2], input.ToArray());
Console.WriteLine(genuine ? "genuine" : "not genuine");
return genuine ? 0 : 1;

static bool Verify(string appSecret, string id, string timestamp, string signatures, byte[] body)
{
    if (timestamp.Length > 11 || !ulong.TryParse(timestamp, out var seconds)
        || Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - (long)seconds) > 300)
    {
        return false;
    }
    byte[] signed = [.. Encoding.UTF8.GetBytes($"{id}.{timestamp}."), .. body];
    var digest = HMACSHA256.HashData(Encoding.UTF8.GetBytes(appSecret), signed);
    var expected = Encoding.UTF8.GetBytes("v1," + Convert.ToBase64String(digest));
    // Two signatures while a reset's grace period runs: one that matches is enough.
    return signatures.Split(' ').Any(given => CryptographicOperations.FixedTimeEquals(expected, Encoding.UTF8.GetBytes(given)));
}
