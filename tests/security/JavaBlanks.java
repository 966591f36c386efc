import java.io.FileInputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import kafka.security.authorizer.AclAuthorizer;
import kafka.server.KafkaConfig;
import kafka.server.KafkaServer;
import kafka.zookeeper.ZooKeeperClientTimeoutException;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.network.ChannelBuilder;
import org.apache.kafka.common.network.ChannelBuilders;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.requests.ApiVersionsResponse;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.authenticator.CredentialCache;
import org.apache.kafka.common.security.kerberos.KerberosShortNamer;
import org.apache.kafka.common.security.scram.ScramCredential;
import org.apache.kafka.common.security.scram.internals.ScramMechanism;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCache;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;

/**
 * Reads lines `KIND FILE NAME` from standard input. KIND is `broker` for a file with the properties of a broker, `client` for
 * those of a client. Kafka's own code takes the file as far as a broker does before it needs a cluster: its definitions, its
 * checks, the listeners with their stores and logins, the link to other brokers, TLS to ZooKeeper. Writes `error STAGE` where it
 * refuses, else `= ` and the value of NAME as parsed.
 */
public class JavaBlanks {
    public static void main(String[] arguments) throws Exception {
        Scanner in = new Scanner(System.in, StandardCharsets.UTF_8);
        java.io.PrintStream out = System.out;
        System.setOut(System.err);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            Properties properties = new Properties();
            try (FileInputStream file = new FileInputStream(words[1])) {
                properties.load(file);
            }
            String said = words[0].equals("broker") ? broker(properties, words[2]) : client(properties, words[2]);
            out.println(said.replaceAll("\\s+", " "));
        }
    }

    private static String why(String stage, Throwable error) {
        while (error.getCause() != null && error.getCause() != error) error = error.getCause();
        error.printStackTrace();
        return "error " + stage;
    }

    private static String client(Properties properties, String name) {
        AdminClientConfig config;
        try {
            config = new AdminClientConfig(properties);
        } catch (Throwable error) {
            return why("definition", error);
        }
        try (ChannelBuilder ignored = org.apache.kafka.clients.ClientUtils.createChannelBuilder(config, Time.SYSTEM, new LogContext())) {
            return "= " + config.values().get(name);
        } catch (Throwable error) {
            return why("use", error);
        }
    }

    private static String broker(Properties properties, String name) {
        KafkaConfig config;
        try {
            config = KafkaConfig.fromProps(properties);
        } catch (Throwable error) {
            return why("definition", error);
        }
        try {
            scala.collection.Iterator<kafka.cluster.EndPoint> listeners = config.listeners().iterator();
            while (listeners.hasNext()) {
                kafka.cluster.EndPoint one = listeners.next();
                boolean among = one.listenerName().equals(config.interBrokerListenerName());
                listener(config, one.listenerName(), one.securityProtocol(), among);
            }
            ChannelBuilders.clientChannelBuilder(config.interBrokerSecurityProtocol(), JaasContext.Type.SERVER, config,
                config.interBrokerListenerName(), config.saslMechanismInterBrokerProtocol(), Time.SYSTEM, true, new LogContext()).close();
        } catch (Throwable error) {
            return why("use", error);
        }
        if (!config.getString("authorizer.class.name").isEmpty()) {
            try {
                new AclAuthorizer().configure(config.originals());
            } catch (ZooKeeperClientTimeoutException reached) {
                System.err.println("ZooKeeper is not there, as expected");
            } catch (Throwable error) {
                return why("use", error);
            }
        }
        try {
            ZKClientConfig zookeeper = KafkaServer.zkClientConfigFromKafkaConfig(config, false);
            if (config.zkSslClientEnable()) new ClientX509Util().createSSLContextAndOptions(zookeeper);
        } catch (Throwable error) {
            return why("zookeeper", error);
        }
        String prefix = name.startsWith("listener.name.") ? name.substring(0, name.indexOf('.', 14) + 1) : "";
        String plain = name.substring(prefix.length());
        Map<String, Object> values = prefix.isEmpty() ? new HashMap<>(config.values()) : config.valuesWithPrefixOverride(prefix);
        Object value = values.get(plain);
        return "= " + value;
    }

    private static void listener(KafkaConfig config, ListenerName name, SecurityProtocol protocol, boolean among) {
        CredentialCache credentials = new CredentialCache();
        for (ScramMechanism one : ScramMechanism.values()) credentials.createCache(one.mechanismName(), ScramCredential.class);
        ChannelBuilders.serverChannelBuilder(name, among, protocol, config, credentials,
            new DelegationTokenCache(ScramMechanism.mechanismNames()), Time.SYSTEM, new LogContext(),
            version -> new ApiVersionsResponse(new org.apache.kafka.common.message.ApiVersionsResponseData())).close();
    }
}
