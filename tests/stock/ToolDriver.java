import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/**
 * Runs the stock tools' main methods inside one JVM, several at a time.
 *
 * Standard input:  ID TAB main class (TAB argument in base64)*
 * Standard output: ID TAB exit code TAB standard output in base64 TAB standard error in base64
 *
 * Each call has a thread group of its own by way of an inherited thread local, so what its threads print is
 * told apart. The first exit code of a call stands: a tool whose catch-all swallows our exit calls exit again.
 */
public final class ToolDriver {
    private static final InheritableThreadLocal<Call> CURRENT = new InheritableThreadLocal<>();

    private static final class Call {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        Integer exitCode;
    }

    private static final class Exited extends Error {
        Exited() {
            super("exit", null, false, false);
        }
    }

    /** Sends what is printed to the call that prints it; after the call's exit, and outside any call, nowhere. */
    private static final class Routed extends OutputStream {
        private final boolean isError;

        Routed(boolean isError) {
            this.isError = isError;
        }

        @Override
        public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            Call call = CURRENT.get();
            if (call != null && call.exitCode == null) {
                (isError ? call.err : call.out).write(bytes, from, length);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(new PrintStream(new Routed(false), true));
        System.setErr(new PrintStream(new Routed(true), true));
        keepRunning();
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] fields = line.split("\t");
            Thread thread = new Thread(() -> answer(fields, answers), "call-" + fields[0]);
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Tools end by way of this class, which has moved in 4.4. */
    private static void keepRunning() throws ReflectiveOperationException {
        Class<?> ending;
        try {
            ending = Class.forName("org.apache.kafka.common.utils.internals.Exit");
        } catch (ClassNotFoundException before44) {
            ending = Class.forName("org.apache.kafka.common.utils.Exit");
        }
        Class<?> procedure = Class.forName(ending.getName() + "$Procedure");
        Object ours = Proxy.newProxyInstance(procedure.getClassLoader(), new Class<?>[] {procedure}, (it, method, args) -> {
            exit((Integer) args[0]);
            return null;
        });
        ending.getMethod("setExitProcedure", procedure).invoke(null, ours);
        ending.getMethod("setHaltProcedure", procedure).invoke(null, ours);
    }

    private static void exit(int code) {
        Call call = CURRENT.get();
        if (call != null && call.exitCode == null) {
            call.exitCode = code;
        }
        throw new Exited();
    }

    private static void answer(String[] fields, PrintStream answers) {
        Call call = new Call();
        CURRENT.set(call);
        String[] args = Arrays.stream(fields).skip(2).map(ToolDriver::decode).toArray(String[]::new);
        try {
            Class.forName(fields[1]).getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (Throwable thrown) {
            Throwable cause = thrown.getCause() == null ? thrown : thrown.getCause();
            if (call.exitCode == null) {
                cause.printStackTrace();
                call.exitCode = 1;
            }
        }
        int code = call.exitCode == null ? 0 : call.exitCode;
        synchronized (answers) {
            answers.println(fields[0] + "\t" + code + "\t" + encode(call.out) + "\t" + encode(call.err));
            answers.flush();
        }
    }

    private static String decode(String base64) {
        return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
    }

    private static String encode(ByteArrayOutputStream bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
