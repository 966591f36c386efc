import java.io.FileInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.internals.BrokerSecurityConfigs;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/**
 * Reads lines `SERVER CLIENT HOST` from standard input: two files of properties, and the name that the client connects
 * to. Kafka's DefaultSslEngineFactory makes an engine of each, and both shake hands. Writes "taken", or "refused" with the exception.
 */
public class JavaHandshakes {
    public static void main(String[] arguments) throws Exception {
        Scanner in = new Scanner(System.in, StandardCharsets.UTF_8);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            try {
                Map<String, Object> server = read(words[0]), client = read(words[1]);
                String identification = (String) client.get("ssl.endpoint.identification.algorithm");
                shake(factory(server).createServerSslEngine("", 0), factory(client).createClientSslEngine(words[2], 9, identification));
                System.out.println("taken");
            } catch (Exception error) {
                Throwable cause = error;
                while (cause.getCause() != null) cause = cause.getCause();
                System.out.println("refused " + cause.getClass().getSimpleName());
            }
        }
    }

    private static Map<String, Object> read(String path) throws Exception {
        Properties properties = new Properties();
        try (InputStream file = new FileInputStream(path)) {
            properties.load(file);
        }
        ConfigDef known = new ConfigDef();
        SslConfigs.addClientSslSupport(known);
        known.define("ssl.client.auth", ConfigDef.Type.STRING, "none", ConfigDef.Importance.LOW, "");
        return new HashMap<>(known.parse(properties));
    }

    private static DefaultSslEngineFactory factory(Map<String, Object> configs) {
        DefaultSslEngineFactory made = new DefaultSslEngineFactory();
        made.configure(configs);
        return made;
    }

    private static void shake(SSLEngine server, SSLEngine client) throws Exception {
        ByteBuffer toServer = ByteBuffer.allocate(1 << 17), toClient = ByteBuffer.allocate(1 << 17);
        client.beginHandshake();
        server.beginHandshake();
        for (int turn = 0; turn < 200; turn++) {
            step(client, toClient, toServer);
            step(server, toServer, toClient);
            if (isOver(client) && isOver(server) && toClient.position() == 0 && toServer.position() == 0) return;
        }
        throw new IllegalStateException("the handshake comes to no end");
    }

    private static boolean isOver(SSLEngine engine) {
        return engine.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING;
    }

    private static void step(SSLEngine engine, ByteBuffer in, ByteBuffer out) throws Exception {
        ByteBuffer nothing = ByteBuffer.allocate(0), taken = ByteBuffer.allocate(1 << 16);
        HandshakeStatus status = engine.getHandshakeStatus();
        if (status == HandshakeStatus.NEED_TASK) {
            for (Runnable task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) task.run();
        } else if (status == HandshakeStatus.NEED_WRAP) {
            engine.wrap(nothing, out);
        } else if (in.position() > 0) {
            in.flip();
            engine.unwrap(in, taken);
            in.compact();
        }
    }
}
