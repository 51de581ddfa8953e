// Feeds documents with the Java feed client, over HTTP/2 without TLS: java FeedMany.java URL GROUP COUNT
// One line per check; the caller counts them.
import ai.vespa.feed.client.DocumentId;
import ai.vespa.feed.client.FeedClient;
import ai.vespa.feed.client.FeedClientBuilder;
import ai.vespa.feed.client.OperationParameters;
import ai.vespa.feed.client.Result;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

final class FeedMany {
    private static final int SECONDS = 60;

    public static void main(String[] arguments) throws Exception {
        String group = arguments[1];
        int count = Integer.parseInt(arguments[2]);
        OperationParameters none = OperationParameters.empty();
        try (FeedClient client = FeedClientBuilder.create(URI.create(arguments[0])).setConnectionsPerEndpoint(2).build()) {
            List<CompletableFuture<Result>> puts = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                String body = "{\"fields\":{\"subject\":\"java " + i + "\",\"year\":" + (2000 + i % 20) + "}}";
                puts.add(client.put(DocumentId.of("id:mail:mail:g=" + group + ":" + i), body, none));
            }
            int good = 0;
            for (CompletableFuture<Result> put : puts) {
                if (put.get(SECONDS, TimeUnit.SECONDS).type() == Result.Type.success) good++;
            }
            report(good == count, "java: " + good + " of " + count + " puts succeed");

            Result removed = client.remove(DocumentId.of("id:mail:mail:g=" + group + ":0"), none).get(SECONDS, TimeUnit.SECONDS);
            report(removed.type() == Result.Type.success, "java: a remove succeeds (" + removed.type() + ")");

            String bad = refusal(client, "id:mail:mail:g=" + group + ":bad", "{\"fields\":{\"year\":\"no number\"}}");
            report(bad.contains("400"), "java: a document with a wrong value is refused (" + bad + ")");
            long failures = client.stats().exceptions();
            report(failures == 0, "java: " + failures + " requests were lost on the way");
        }
    }

    private static String refusal(FeedClient client, String id, String body) throws Exception {
        try {
            return client.put(DocumentId.of(id), body, OperationParameters.empty()).get(SECONDS, TimeUnit.SECONDS).toString();
        } catch (ExecutionException refused) {
            return refused.getCause().getMessage().replace('\n', ' ');
        }
    }

    private static void report(boolean good, String what) {
        System.out.println((good ? "ok " : "FAILED ") + what);
    }
}
