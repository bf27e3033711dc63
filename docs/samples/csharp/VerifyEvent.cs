// Verifies an event. Reads the body from standard input, byte for byte as received.
// Usage: dotnet run VerifyEvent.cs -- WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
using System;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

static class VerifyEvent
{
    static int Main(string[] args)
    {
        if (args.Length != 3)
        {
            Console.Error.WriteLine("Usage: dotnet run VerifyEvent.cs -- WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body");
            return 2;
        }
        var input = new MemoryStream();
        Console.OpenStandardInput().CopyTo(input);
        var appSecret = Environment.GetEnvironmentVariable("DEALER_ESIM_APP_SECRET") ?? "";
        var genuine = Verify(appSecret, args[0], args[1], args[2], input.ToArray());
        Console.WriteLine(genuine ? "genuine" : "not genuine");
        return genuine ? 0 : 1;
    }

    static bool Verify(string appSecret, string id, string timestamp, string signatures, byte[] body)
    {
        ulong seconds;
        if (timestamp.Length > 11 || !ulong.TryParse(timestamp, out seconds)
            || Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - (long)seconds) > 300)
        {
            return false;
        }
        var signed = Encoding.UTF8.GetBytes(id + "." + timestamp + ".").Concat(body).ToArray();
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(appSecret)))
        {
            var expected = Encoding.UTF8.GetBytes("v1," + Convert.ToBase64String(hmac.ComputeHash(signed)));
            // In a grace period there are two signatures; one that matches is enough.
            return signatures.Split(' ').Any(given => CryptographicOperations.FixedTimeEquals(expected, Encoding.UTF8.GetBytes(given)));
        }
    }
}
