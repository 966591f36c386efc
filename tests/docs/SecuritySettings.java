import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.TreeSet;

import org.apache.kafka.common.config.ConfigDef;

/** Prints the settings of a Kafka broker that these classes of Kafka define, and the quotas of users, clients and IPs. */
public class SecuritySettings {
    private static final String[] CLASSES = {
        "org.apache.kafka.common.config.SecurityConfig",
        "org.apache.kafka.common.config.SslConfigs",
        "org.apache.kafka.common.config.SaslConfigs",
        "org.apache.kafka.common.config.internals.BrokerSecurityConfigs",
        "org.apache.kafka.network.SocketServerConfigs",
        "org.apache.kafka.security.PasswordEncoderConfigs",
        "org.apache.kafka.server.config.DelegationTokenManagerConfigs",
        "org.apache.kafka.server.config.QuotaConfigs",
        "org.apache.kafka.server.config.ZkConfigs",
    };

    public static void main(String[] args) throws Exception {
        ConfigDef broker = kafka.server.KafkaConfig.configDef();
        TreeSet<String> found = new TreeSet<>();
        for (String name : CLASSES) {
            for (Field field : Class.forName(name).getFields()) {
                if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
                    String value = (String) field.get(null);
                    if (broker.names().contains(value)) {
                        found.add(value);
                    }
                }
            }
        }
        found.addAll(org.apache.kafka.server.config.QuotaConfigs.userAndClientQuotaConfigs().names());
        found.addAll(org.apache.kafka.server.config.QuotaConfigs.ipConfigs().names());
        found.forEach(System.out::println);
    }
}
