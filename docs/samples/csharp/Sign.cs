// Prints X-Signature. Usage: dotnet run Sign.cs -- TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY
using System;
using System.Security.Cryptography;
using System.Text;

static class Sign
{
    static int Main(string[] args)
    {
        if (args.Length != 5)
        {
            Console.Error.WriteLine("Usage: dotnet run Sign.cs -- TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY");
            return 2;
        }
        Console.WriteLine(SignatureOf(args[0], args[1], args[2], args[3], args[4]));
        return 0;
    }

    static string SignatureOf(string timestamp, string requestId, string appKey, string appSecret, string body)
    {
        var text = Encoding.UTF8.GetBytes(timestamp + requestId + appKey + body);
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(appSecret)))
        {
            return BitConverter.ToString(hmac.ComputeHash(text)).Replace("-", "").ToLowerInvariant();
        }
    }
}
