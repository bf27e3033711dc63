// Prints X-Signature. Usage: dotnet run Sign.cs -- TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY
using System.Security.Cryptography;
using System.Text;

if (args.Length != 5)
{
    Console.Error.WriteLine("Usage: dotnet run Sign.cs -- TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY");
    return 2;
}

var (timestamp, requestId, appKey, appSecret, body) = (args[0], args[1], args[2], args[3], args[4]);
var text = Encoding.UTF8.GetBytes(timestamp + requestId + appKey + body);
Console.WriteLine(Convert.ToHexString(HMACSHA256.HashData(Encoding.UTF8.GetBytes(appSecret), text)).ToLowerInvariant());
return 0;
