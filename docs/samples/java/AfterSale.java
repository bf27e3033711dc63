import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Tops up or cancels an eSIM, waits for the result and prints it. An eSIM is named by its esimTranNo.
 * Usage: java AfterSale.java topup ESIM PACKAGE_CODE TRANSACTION_ID
 *        java AfterSale.java cancel ESIM TRANSACTION_ID
 * Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Java 17 or later. It calls as Order.java does.
 */
public class AfterSale {
    static final String APP_KEY = System.getenv("DEALER_ESIM_APP_KEY");
    static final HttpClient CLIENT = HttpClient.newHttpClient();
    static final Set<String> OPEN = Set.of("PAID", "ALLOCATING", "PENDING");

    public static void main(String[] args) throws Exception {
        boolean isTopUp = args.length == 4 && args[0].equals("topup");
        boolean isCancel = args.length == 3 && args[0].equals("cancel");
        if (!isTopUp && !isCancel) {
            System.err.println("Usage: java AfterSale.java topup ESIM PACKAGE_CODE TRANSACTION_ID");
            System.err.println("       java AfterSale.java cancel ESIM TRANSACTION_ID");
            System.exit(2);
        }
        // Use your JSON library here. Serialise once: the bytes that are signed are the bytes that are sent.
        String key = "\"transactionId\":\"" + args[args.length - 1] + "\"";
        // An action is repeated in the body, because the signature does not cover the path.
        String what = isTopUp ? "\"packageCode\":\"" + args[2] + "\"" : "\"action\":\"CANCEL\"";
        HttpResponse<String> answer = call("esim/" + args[0],
                "{" + key + "," + what + ",\"esimTranNo\":\"" + args[1] + "\"}");
        // Accepted is not done: the supplier is asked after the answer. A real shop waits for the event instead.
        String member = isTopUp ? "orderStatus" : "actionStatus";
        for (int number = 0; number < 30 && OPEN.contains(statusOf(answer, member)); number++) {
            Thread.sleep(1000);
            answer = call(isTopUp ? "esim/query" : "esim/action/query", "{" + key + "}");
        }
        if (codeOf(answer).isEmpty()) {
            System.err.println("HTTP " + answer.statusCode() + ": this is not an answer of a gateway. Repeat with the same transactionId.");
            System.exit(1);
        }
        System.out.println(answer.body());
        boolean isDone = statusOf(answer, member).equals(isTopUp ? "DELIVERED" : "DONE");
        System.exit(codeOf(answer).equals("000000") && isDone ? 0 : 1);
    }

    /** Use your JSON library here. Empty if the answer has no such member. */
    static String statusOf(HttpResponse<String> answer, String member) {
        Matcher status = Pattern.compile("\"" + member + "\": ?\"([A-Z_]+)\"").matcher(answer.body());
        return status.find() ? status.group(1) : "";
    }

    /** Use your JSON library here. Empty if the body is not an answer of a gateway, such as a proxy's page. */
    static String codeOf(HttpResponse<String> answer) {
        Matcher code = Pattern.compile("^\\{\"code\": ?\"([0-9]{6})\"").matcher(answer.body());
        return code.find() ? code.group(1) : "";
    }

    /** Retries where that is safe. The body, including the transactionId, stays the same, so nothing happens twice. */
    static HttpResponse<String> call(String operation, String body) throws Exception {
        for (int number = 1;; number++) {
            long waitS = number;
            try {
                HttpResponse<String> answer = CLIENT.send(request(operation, body), HttpResponse.BodyHandlers.ofString());
                // 101006: a proxy or library repeated the request.
                boolean again = answer.statusCode() == 429 || answer.statusCode() >= 500
                        || codeOf(answer).equals("101006");
                if (!again || number == 4) {
                    return answer;
                }
                String retryAfter = answer.headers().firstValue("Retry-After").orElse("");
                if (retryAfter.matches("[0-9]{1,6}")) {
                    waitS = Math.max(waitS, Long.parseLong(retryAfter));
                }
            } catch (IOException fault) {
                if (number == 4) {
                    throw fault;
                }
            }
            Thread.sleep(waitS * 1000);
        }
    }

    /** Uses a new RequestID and timestamp for each attempt: a RequestID is accepted once. */
    static HttpRequest request(String operation, String body) throws Exception {
        String timestamp = String.valueOf(System.currentTimeMillis());
        String requestId = UUID.randomUUID().toString();
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(System.getenv("DEALER_ESIM_APP_SECRET").getBytes(UTF_8), "HmacSHA256"));
        byte[] signature = mac.doFinal((timestamp + requestId + APP_KEY + body).getBytes(UTF_8));
        return HttpRequest.newBuilder(URI.create(System.getenv("DEALER_ESIM_BASE_URL") + "/open-api/v1/" + operation))
                .timeout(Duration.ofSeconds(30))
                .header("Content-Type", "application/json")
                .header("RT-AccessCode", APP_KEY)
                .header("RT-RequestID", requestId)
                .header("RT-Timestamp", timestamp)
                .header("X-Signature", HexFormat.of().formatHex(signature))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
    }
}
