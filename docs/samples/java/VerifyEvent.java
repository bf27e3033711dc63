import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Verifies an event. Reads the body from standard input, byte for byte as received.
 * Usage: java VerifyEvent.java WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
 */
public class VerifyEvent {
    public static void main(String[] args) throws Exception {
        if (args.length != 3) {
            System.err.println("Usage: java VerifyEvent.java WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body");
            System.exit(2);
        }
        byte[] body = System.in.readAllBytes();
        boolean genuine = verify(System.getenv("DEALER_ESIM_APP_SECRET"), args[0], args[1], args[2], body);
        System.out.println(genuine ? "genuine" : "not genuine");
        System.exit(genuine ? 0 : 1);
    }

    static boolean verify(String appSecret, String id, String timestamp, String signatures, byte[] body)
            throws Exception {
        if (!timestamp.matches("[0-9]{1,11}")
                || Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp)) > 300) {
            return false;
        }
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(appSecret.getBytes(UTF_8), "HmacSHA256"));
        mac.update((id + "." + timestamp + ".").getBytes(UTF_8));
        byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(UTF_8);
        // In a grace period there are two signatures; one that matches is enough.
        for (String given : signatures.split(" ")) {
            if (MessageDigest.isEqual(expected, given.getBytes(UTF_8))) {
                return true;
            }
        }
        return false;
    }
}
