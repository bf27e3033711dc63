import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Prints X-Signature. Usage: java Sign.java TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY */
public class Sign {
    public static void main(String[] args) throws Exception {
        if (args.length != 5) {
            System.err.println("Usage: java Sign.java TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY");
            System.exit(2);
        }
        System.out.println(sign(args[3], args[0], args[1], args[2], args[4]));
    }

    static String sign(String appSecret, String timestamp, String requestId, String appKey, String body)
            throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(appSecret.getBytes(UTF_8), "HmacSHA256"));
        return HexFormat.of().formatHex(mac.doFinal((timestamp + requestId + appKey + body).getBytes(UTF_8)));
    }
}
