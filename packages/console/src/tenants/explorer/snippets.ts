import type { OperationName } from '@dealer-esim/contract'
import type { CodeLanguage } from '#code/highlight.ts'
import type { SignedCall } from './signed-call.ts'

/** The call that a snippet makes. */
export interface SnippetCall {
  publicUrl: string
  appKey: string
  operation: OperationName
  /** The body as JSON text. */
  body: string
}

interface Snippet {
  /** The language, as its community writes it. */
  name: string
  language: CodeLanguage
  /** A complete program that signs and sends the call. Its AppSecret comes from the environment. */
  write(call: SnippetCall): string
}

/** The request that was signed, as a curl command. It works only once, and only for five minutes. */
export function curlCommand(publicUrl: string, operation: OperationName, call: SignedCall): string {
  const headers = Object.entries(call.headers).map(([name, value]) => `  -H '${name}: ${value}' \\`)
  return [
    `curl -sS '${publicUrl}/open-api/v1/${operation}' \\`,
    ...headers,
    `  --data-binary ${shellQuoted(call.body)}`,
  ].join('\n')
}

/** A snippet for each language of docs/samples. */
export const SNIPPETS = {
  bash: { name: 'Bash', language: 'shell', write: bash },
  python: { name: 'Python', language: 'python', write: python },
  php: { name: 'PHP', language: 'php', write: php },
  java: { name: 'Java', language: 'java', write: java },
  go: { name: 'Go', language: 'go', write: go },
  csharp: { name: 'C#', language: 'csharp', write: csharp },
  typescript: { name: 'TypeScript', language: 'typescript', write: typescript },
} satisfies Record<string, Snippet>

export type SnippetLanguage = keyof typeof SNIPPETS

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function bash({ publicUrl, appKey, operation, body }: SnippetCall): string {
  return `app_key='${appKey}'
body=${shellQuoted(body)}
timestamp=$(date +%s)000
request_id=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)
# openssl shows the secret in the process list while it runs.
signature=$(printf '%s' "$timestamp$request_id$app_key$body" |
  openssl dgst -sha256 -hmac "$DEALER_ESIM_APP_SECRET" | sed 's/^.* //')
curl -sS '${publicUrl}/open-api/v1/${operation}' \\
  -H 'Content-Type: application/json' \\
  -H "RT-AccessCode: $app_key" \\
  -H "RT-RequestID: $request_id" \\
  -H "RT-Timestamp: $timestamp" \\
  -H "X-Signature: $signature" \\
  --data-binary "$body"
`
}

function python({ publicUrl, appKey, operation, body }: SnippetCall): string {
  return `import hashlib, hmac, os, time, urllib.error, urllib.request, uuid

app_key = "${appKey}"
body = r'''${withoutApostrophes(body)}'''.encode()
timestamp, request_id = str(int(time.time() * 1000)), str(uuid.uuid4())
text = (timestamp + request_id + app_key).encode() + body
headers = {
    "Content-Type": "application/json",
    "RT-AccessCode": app_key,
    "RT-RequestID": request_id,
    "RT-Timestamp": timestamp,
    "X-Signature": hmac.new(os.environ["DEALER_ESIM_APP_SECRET"].encode(), text, hashlib.sha256).hexdigest(),
}
request = urllib.request.Request("${publicUrl}/open-api/v1/${operation}", data=body, headers=headers)
try:
    print(urllib.request.urlopen(request, timeout=30).read().decode())
except urllib.error.HTTPError as refusal:
    print(refusal.read().decode())
`
}

function php({ publicUrl, appKey, operation, body }: SnippetCall): string {
  return `<?php
$appKey = '${appKey}';
$body = <<<'BODY'
${body}
BODY;
$timestamp = (string) (int) (microtime(true) * 1000);
$bytes = random_bytes(16);
$bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
$bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
$requestId = vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
$signature = hash_hmac('sha256', $timestamp . $requestId . $appKey . $body, getenv('DEALER_ESIM_APP_SECRET'));
echo file_get_contents('${publicUrl}/open-api/v1/${operation}', false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Content-Type: application/json',
        "RT-AccessCode: $appKey",
        "RT-RequestID: $requestId",
        "RT-Timestamp: $timestamp",
        "X-Signature: $signature",
    ],
    'content' => $body,
    'ignore_errors' => true,
    'timeout' => 30,
]]));
`
}

function java({ publicUrl, appKey, operation, body }: SnippetCall): string {
  const lines = body.replaceAll('\\', '\\\\').split('\n')
  return `import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.http.*;
import java.util.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Call {
    public static void main(String[] args) throws Exception {
        String appKey = "${appKey}";
        String body = """
${lines.map((line) => `                ${line}`).join('\n')}""";
        String timestamp = String.valueOf(System.currentTimeMillis());
        String requestId = UUID.randomUUID().toString();
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(System.getenv("DEALER_ESIM_APP_SECRET").getBytes(UTF_8), "HmacSHA256"));
        byte[] signature = mac.doFinal((timestamp + requestId + appKey + body).getBytes(UTF_8));
        HttpRequest request = HttpRequest.newBuilder(URI.create("${publicUrl}/open-api/v1/${operation}"))
                .header("Content-Type", "application/json")
                .header("RT-AccessCode", appKey)
                .header("RT-RequestID", requestId)
                .header("RT-Timestamp", timestamp)
                .header("X-Signature", HexFormat.of().formatHex(signature))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
`
}

function go({ publicUrl, appKey, operation, body }: SnippetCall): string {
  return `package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	appKey := "${appKey}"
	body := \`${body.replaceAll('`', '\\u0060')}\`
	timestamp := fmt.Sprint(time.Now().UnixMilli())
	b := make([]byte, 16)
	rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	requestID := fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	mac := hmac.New(sha256.New, []byte(os.Getenv("DEALER_ESIM_APP_SECRET")))
	mac.Write([]byte(timestamp + requestID + appKey + body))
	request, err := http.NewRequest("POST", "${publicUrl}/open-api/v1/${operation}", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("RT-AccessCode", appKey)
	request.Header.Set("RT-RequestID", requestID)
	request.Header.Set("RT-Timestamp", timestamp)
	request.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	fmt.Println(string(answer))
}
`
}

function csharp({ publicUrl, appKey, operation, body }: SnippetCall): string {
  const lines = body.split('\n')
  return `using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;

var appKey = "${appKey}";
var body = """
${lines.map((line) => `    ${line}`).join('\n')}
    """.ReplaceLineEndings("\\n");
var timestamp = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds().ToString();
var requestId = Guid.NewGuid().ToString();
var key = Encoding.UTF8.GetBytes(Environment.GetEnvironmentVariable("DEALER_ESIM_APP_SECRET")!);
var signature = HMACSHA256.HashData(key, Encoding.UTF8.GetBytes(timestamp + requestId + appKey + body));
using var client = new HttpClient();
var request = new HttpRequestMessage(HttpMethod.Post, "${publicUrl}/open-api/v1/${operation}")
{
    Content = new ByteArrayContent(Encoding.UTF8.GetBytes(body)),
};
request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
request.Headers.Add("RT-AccessCode", appKey);
request.Headers.Add("RT-RequestID", requestId);
request.Headers.Add("RT-Timestamp", timestamp);
request.Headers.Add("X-Signature", Convert.ToHexString(signature).ToLowerInvariant());
Console.WriteLine(await (await client.SendAsync(request)).Content.ReadAsStringAsync());
`
}

const METHODS: Record<OperationName, string> = {
  health: 'health',
  'account/balance': 'balance',
  'package/list': 'packages',
  'esim/order': 'order',
  'esim/topup': 'topup',
  'esim/query': 'query',
  'esim/profile/list': 'profiles',
  'esim/profile/send': 'send',
  'brand/list': 'brands',
  'esim/cancel': 'cancel',
  'esim/suspend': 'suspend',
  'esim/unsuspend': 'unsuspend',
  'esim/revoke': 'revoke',
  'esim/action/query': 'action',
  'webhook/set': 'setWebhook',
  'webhook/test': 'testWebhook',
  'order/list': 'orders',
  'account/statement': 'statement',
  'ledger/checkpoint': 'checkpoint',
  'ledger/proof': 'proof',
  'ledger/consistency': 'consistency',
  'ledger/keys': 'ledgerKeys',
  'location/list': 'locations',
  'device/list': 'devices',
  'esim/usage/query': 'usage',
  'test/balance/set': 'test.setBalance',
  'test/esim/update': 'test.updateEsim',
  'test/clock/advance': 'test.advanceClock',
  'test/order/resolve': 'test.resolveOrder',
}

/** The SDK adds these members to the body itself. */
const ADDED_MEMBERS = /^[ \t]*"(action|validateOnly)":.*\n/gm

/** True if the body is that of a dry run, which buys nothing. */
export function isDryRun(body: string): boolean {
  try {
    return (JSON.parse(body) as { validateOnly?: unknown } | null)?.validateOnly === true
  } catch {
    return false
  }
}

/** The method of the SDK for this request. */
function methodOf({ operation, body }: SnippetCall): string {
  if (!isDryRun(body)) return METHODS[operation]
  return operation === 'esim/topup' ? 'quoteTopup' : 'quote'
}

function typescript(call: SnippetCall): string {
  const { publicUrl, appKey, body } = call
  const argument = body.trim() === '{}' ? '' : body.trim()
  return `import { DealerEsim } from '@dealer-esim/sdk'

const gateway = new DealerEsim({
  baseUrl: '${publicUrl}',
  appKey: '${appKey}',
  appSecret: process.env.DEALER_ESIM_APP_SECRET ?? '',
})

console.log(JSON.stringify(await gateway.${methodOf(call)}(${argument.replace(ADDED_MEMBERS, '')})))
`
}

/** In valid JSON, apostrophes occur only in strings. */
function withoutApostrophes(json: string): string {
  return json.replaceAll("'", '\\u0027')
}
