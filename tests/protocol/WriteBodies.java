// Writes one body for every API, version and direction with Kafka's own message classes, each field filled with
// something other than its default where the version carries it. One line each, separated by tabs:
// key, version, request or response, the body in hex, its fields as JSON.
// Run: java -cp 'DIRECTORY_OF_KAFKA_JARS/*' tests/protocol/WriteBodies.java

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class WriteBodies {
    /** Fields of an element by which its collection is linked; they are not on the wire. */
    private static final Set<String> LINKS = Set.of("next", "prev");

    private final ApiMessage root;
    private final short version;
    private int next = 1;

    WriteBodies(ApiMessage root, short version) {
        this.root = root;
        this.version = version;
    }

    public static void main(String[] arguments) throws Exception {
        for (ApiMessageType type : ApiMessageType.values()) {
            for (short version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(true); version++) {
                write(type, version, "request", type.newRequest());
                write(type, version, "response", type.newResponse());
            }
        }
    }

    private static void write(ApiMessageType type, short version, String direction, ApiMessage message) throws Exception {
        WriteBodies filler = new WriteBodies(message, version);
        byte[] bytes;
        try {
            filler.fill(message);
            bytes = filler.bytes();
        } catch (RuntimeException error) {
            System.err.println(type + " " + version + " " + direction + ": " + error);
            return;
        }
        StringBuilder hex = new StringBuilder();
        for (byte one : bytes) hex.append(String.format("%02x", one));
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        Object json = converter.getMethod("write", message.getClass(), short.class).invoke(null, message, version);
        System.out.println(type.apiKey() + "\t" + version + "\t" + direction + "\t" + hex + "\t" + json);
    }

    private byte[] bytes() {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(root.size(cache, version));
        root.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    /** Sets each field in turn, and takes it back where the version cannot carry it. */
    private void fill(Object message) throws Exception {
        Field[] fields = message.getClass().getDeclaredFields();
        for (Field field : fields) {
            if (Modifier.isStatic(field.getModifiers()) || LINKS.contains(field.getName())) continue;
            Method setter = setter(message.getClass(), field.getName());
            if (setter == null) continue;
            field.setAccessible(true);
            Object before = field.get(message);
            Object value = value(setter.getParameterTypes()[0], setter.getGenericParameterTypes()[0]);
            if (value == null) continue;
            setter.invoke(message, value);
            try {
                bytes();
            } catch (UnsupportedVersionException | NullPointerException error) {
                setter.invoke(message, before);
                continue;
            }
            if (value instanceof Collection<?> elements) {
                for (Object element : new ArrayList<>(elements)) if (element instanceof Message) fill(element);
            } else if (value instanceof Message) {
                fill(value);
            }
        }
    }

    private static Method setter(Class<?> owner, String field) {
        String name = "set" + Character.toUpperCase(field.charAt(0)) + field.substring(1);
        return Arrays.stream(owner.getMethods())
            .filter(method -> method.getName().equals(name) && method.getParameterCount() == 1)
            .min(Comparator.comparing(Method::toString)).orElse(null);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Object value(Class<?> type, Type generic) throws Exception {
        int number = next++;
        if (type == boolean.class) return number % 2 == 1;
        if (type == byte.class) return (byte) (number % 3 + 1);
        if (type == short.class) return (short) (number + 100);
        if (type == int.class) return number + 40_000;
        if (type == long.class) return number + 5_000_000_000L;
        if (type == double.class) return number + 0.5;
        if (type == String.class) return "text-" + number;
        if (type == Uuid.class) return new Uuid(number, number + 1L);
        if (type == byte[].class) return new byte[] {1, 2, (byte) number};
        if (type == ByteBuffer.class) return ByteBuffer.wrap(new byte[] {3, 4, (byte) number});
        if (Collection.class.isAssignableFrom(type)) {
            boolean plain = type == List.class;
            Class<?> element = (Class<?>) (plain ? ((ParameterizedType) generic).getActualTypeArguments()[0]
                : ((ParameterizedType) type.getGenericSuperclass()).getActualTypeArguments()[0]);
            Collection all = plain ? new ArrayList<>() : (Collection) type.getConstructor().newInstance();
            for (int index = 0; index < 2; index++) {
                Object one = element == Integer.class ? (Object) (number + index)
                    : element == Long.class ? (Object) (number + index + 5_000_000_000L)
                    : element == Short.class ? (Object) (short) (number + index)
                    : element == Byte.class ? (Object) (byte) index
                    : value(element, element);
                if (one == null) return null;
                all.add(one);
            }
            return all;
        }
        if (Message.class.isAssignableFrom(type)) return type.getConstructor().newInstance();
        return null;
    }
}
