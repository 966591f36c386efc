import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaServer;
import kafka.zk.KafkaZkClient;
import kafka.zk.ZkMigrationClient;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.security.PasswordEncoder;
import org.apache.zookeeper.client.ZKClientConfig;
import scala.Option;

/**
 * Starts one stock broker again and again in one JVM. Commands come on standard input, one a line:
 *
 * start, stop      the broker of the properties in the first argument
 * migrate          reads all metadata as a KRaft controller does that takes a cluster over
 * thread NAME      milliseconds of CPU that the first thread whose name begins so has used, and its stack; "none"
 *
 * The answer is one line on standard output: "ok", what was asked for, or what was thrown.
 */
public class RestartBroker {
    private static KafkaServer server;

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Exit.setExitProcedure((status, message) -> { throw new RuntimeException("exit " + status); });
        Exit.setHaltProcedure((status, message) -> { throw new RuntimeException("halt " + status); });
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = answer(args[0], line);
            } catch (Throwable thrown) {
                StringBuilder all = new StringBuilder("thrown: ");
                for (Throwable one = thrown; one != null; one = one.getCause()) all.append(one).append(" | ");
                answer = all.toString();
            }
            out.println(answer.replaceAll("[\r\n]+", " "));
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(String file, String line) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream input = new FileInputStream(file)) {
            properties.load(input);
        }
        if (line.equals("start")) {
            server = new KafkaServer(KafkaConfig.fromProps(properties, false), Time.SYSTEM, Option.empty(), false);
            server.startup();
        } else if (line.equals("stop")) {
            server.shutdown();
            server.awaitShutdown();
        } else if (line.equals("migrate")) {
            migrate(properties.getProperty("zookeeper.connect"));
        } else {
            return thread(line.substring("thread ".length()));
        }
        return "ok";
    }

    private static void migrate(String connect) {
        KafkaZkClient zk = KafkaZkClient.apply(connect, false, 30000, 30000, 10, Time.SYSTEM, "migration",
            new ZKClientConfig(), "kafka.server", "SessionExpireListener", false, false);
        try {
            ZkMigrationClient.apply(zk, PasswordEncoder.NOOP).readAllMetadata(batch -> { }, broker -> { });
        } finally {
            zk.close();
        }
    }

    private static String thread(String name) {
        for (var entry : Thread.getAllStackTraces().entrySet()) {
            if (!entry.getKey().getName().startsWith(name)) continue;
            var beans = java.lang.management.ManagementFactory.getThreadMXBean();
            StringBuilder found = new StringBuilder();
            found.append(beans.getThreadCpuTime(entry.getKey().getId()) / 1_000_000);
            for (StackTraceElement element : entry.getValue()) found.append(' ').append(element);
            return found.toString();
        }
        return "none";
    }
}
