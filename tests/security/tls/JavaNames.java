import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Scanner;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * Reads lines from standard input, writes a line for each. All texts are hexadecimal UTF-8, "-" where empty.
 *
 *   name DER         X500Principal.getName() of a Name
 *   map RULES NAME   "= NAME" that SslPrincipalMapper gives; "none" where no rule matches; "fails" where a rule throws;
 *                    "invalid" where the rules cannot be read
 */
public class JavaNames {
    public static void main(String[] arguments) {
        Scanner in = new Scanner(System.in, StandardCharsets.UTF_8);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            if (words[0].equals("name")) {
                System.out.println(hex(new X500Principal(HexFormat.of().parseHex(words[1])).getName()));
            } else {
                System.out.println(mapped(text(words[1]), text(words[2])));
            }
        }
    }

    private static String mapped(String rules, String name) {
        SslPrincipalMapper mapper;
        try {
            mapper = SslPrincipalMapper.fromRules(rules);
        } catch (IllegalArgumentException e) {
            return "invalid";
        }
        try {
            return "= " + hex(mapper.getName(name));
        } catch (SslPrincipalMapper.NoMatchingRule e) {
            return "none";
        } catch (Exception e) {
            return "fails";
        }
    }

    private static String text(String hex) {
        return hex.equals("-") ? "" : new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8);
    }

    private static String hex(String text) {
        return text.isEmpty() ? "-" : HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
    }
}
