// Asks Kafka's own AclAuthorizer, without ZooKeeper. Reads lines of fields separated by tabs, answers asks with 0 or 1.
//   new  super-users allow-everyone      acl  type name pattern principal host operation permission
//   ask  principal host operation type name                any  principal host operation type
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import kafka.security.authorizer.AclAuthorizer;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.security.authorizer.AclEntry;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import scala.jdk.javaapi.CollectionConverters;

public class Authorize {
    record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        public String listenerName() { return "PLAINTEXT"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public int requestType() { return 3; }
        public int requestVersion() { return 0; }
        public String clientId() { return ""; }
        public int correlationId() { return 0; }
    }

    static void set(AclAuthorizer authorizer, String name, Object value) throws Exception {
        Field field = AclAuthorizer.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(authorizer, value);
    }

    static <T> scala.collection.immutable.Set<T> scalaSet(Set<T> set) {
        return CollectionConverters.asScala(set).toSet();
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder out = new StringBuilder();
        AclAuthorizer authorizer = null;
        Map<ResourcePattern, Set<AclEntry>> acls = new HashMap<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split("\t", -1);
            if (f[0].equals("new")) {
                authorizer = new AclAuthorizer();
                acls.clear();
                Set<KafkaPrincipal> users = new HashSet<>();
                if (!f[1].isEmpty())
                    for (String user : f[1].split(";"))
                        users.add(SecurityUtils.parseKafkaPrincipal(user.trim()));
                set(authorizer, "superUsers", scalaSet(users));
                set(authorizer, "shouldAllowEveryoneIfNoAclIsFound", f[2].equals("true"));
            } else if (f[0].equals("acl")) {
                ResourcePattern pattern = new ResourcePattern(
                    ResourceType.valueOf(f[1]), f[2], PatternType.valueOf(f[3]));
                Set<AclEntry> entries = acls.computeIfAbsent(pattern, p -> new HashSet<>());
                entries.add(new AclEntry(new AccessControlEntry(
                    f[4], f[5], AclOperation.valueOf(f[6]), AclPermissionType.valueOf(f[7]))));
                authorizer.updateCache(pattern, new AclAuthorizer.VersionedAcls(scalaSet(entries), 1));
            } else {
                Context context = new Context(SecurityUtils.parseKafkaPrincipal(f[1]), InetAddress.getByName(f[2]));
                AclOperation operation = AclOperation.valueOf(f[3]);
                ResourceType type = ResourceType.valueOf(f[4]);
                AuthorizationResult result = f[0].equals("any")
                    ? authorizer.authorizeByResourceType(context, operation, type)
                    : authorizer.authorize(context, List.of(new Action(
                        operation, new ResourcePattern(type, f[5], PatternType.LITERAL), 1, false, false))).get(0);
                out.append(result == AuthorizationResult.ALLOWED ? '1' : '0');
            }
        }
        new PrintStream(System.out, true, StandardCharsets.UTF_8).print(out);
    }
}
