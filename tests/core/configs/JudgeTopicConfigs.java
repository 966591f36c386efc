import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.TopicConfigHandler;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.storage.internals.log.LogConfig;
import scala.Option;

/**
 * Has Kafka's own classes judge configs of topics. A line of the input is one case, its fields separated by tabs: the
 * broker's static configs, the topic's configs, and the configs as they are stored; each "name=value" pairs in base64,
 * separated by commas.
 *
 * A line of the answer is "ok", "ends" where Kafka accepts the configs and a broker that starts with what is stored ends
 * at it, or the message of the refusal in base64; then, behind a tab, the values in force of all configs.
 */
public class JudgeTopicConfigs {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Map<String, KafkaConfig> brokers = new HashMap<>();
        for (String line; (line = in.readLine()) != null; ) {
            String[] fields = line.split("\t", -1);
            KafkaConfig broker = brokers.computeIfAbsent(fields[0], text -> {
                Properties static_ = pairs(text);
                static_.put("broker.id", "1");
                static_.put("zookeeper.connect", "localhost:1");
                return KafkaConfig.fromProps(static_);
            });
            boolean tiered = broker.remoteLogManagerConfig().isRemoteStorageSystemEnabled();
            Properties wanted = pairs(fields[1]);
            String answer;
            try {
                LogConfig.validate(Collections.emptyMap(), wanted, broker.extractLogConfigMap(), tiered, true);
                answer = starts(broker, tiered, pairs(fields[2])) ? "ok" : "ends";
            } catch (Exception refusal) {
                answer = encoded(refusal.getMessage());
            }
            out.println(answer + (answer.equals("ok") ? "\t" + inForce(broker, wanted) : ""));
        }
        out.flush();
    }

    /** What ZkConfigManager and LogManager do with the configs of a topic when a broker starts. */
    private static boolean starts(KafkaConfig broker, boolean tiered, Properties stored) {
        TopicConfigHandler handler = new TopicConfigHandler(null, broker, null, Option.empty());
        try {
            LogConfig config = LogConfig.fromProps(broker.extractLogConfigMap(), stored);
            LogConfig.validateRemoteStorageOnlyIfSystemEnabled(config.values(), tiered, true);
            LogConfig.validateNoInvalidRemoteStorageConfigsInZK(config.values());
            String version = stored.getProperty("message.format.version");
            if (version != null)
                new LogConfig.MessageFormatVersion(version, "3.9-IV0");
            for (String name : new String[] {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"})
                if (stored.containsKey(name) && !stored.getProperty(name).isEmpty())
                    for (int id : new int[] {0, 1, 2, 3})
                        handler.parseThrottledPartitions(stored, id, name);
            return true;
        } catch (Exception end) {
            return false;
        }
    }

    private static String inForce(KafkaConfig broker, Properties topic) {
        LogConfig config = LogConfig.fromProps(broker.extractLogConfigMap(), topic);
        StringBuilder found = new StringBuilder();
        for (String name : LogConfig.configNames()) {
            String value = ConfigDef.convertToString(
                config.values().get(name), LogConfig.configType(name).get());
            found.append(found.length() == 0 ? "" : ",").append(encoded(name + "=" + value));
        }
        return found.toString();
    }

    private static Properties pairs(String text) {
        Properties found = new Properties();
        if (!text.isEmpty())
            for (String one : text.split(",")) {
                String[] pair = new String(Base64.getDecoder().decode(one), StandardCharsets.UTF_8).split("=", 2);
                found.setProperty(pair[0], pair[1]);
            }
        return found;
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(String.valueOf(text).getBytes(StandardCharsets.UTF_8));
    }
}
