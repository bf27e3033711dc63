// Verifies an event. Reads the body from standard input, byte for byte as received.
// Usage: dotnet run VerifyEvent.cs -- WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
using System.Security.Cryptography;
using System.Text;

if (args.Length != 3)
{
    Console.Error.WriteLine("Usage: dotnet run VerifyEvent.cs -- WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body");
    return 2;
}

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
    // In a grace period there are two signatures; one that matches is enough.
    return signatures.Split(' ').Any(given => CryptographicOperations.FixedTimeEquals(expected, Encoding.UTF8.GetBytes(given)));
}
