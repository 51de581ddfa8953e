// Feeds documents with the Java feed client, over HTTP/2 without TLS: java FeedMany.java URL GROUP COUNT
// One line per check; the caller counts them.
import ai.vespa.feed.client.DocumentId;
import ai.vespa.feed.client.FeedClient;
import ai.vespa.feed.client.FeedClientBuilder;
import ai.vespa.feed.client.JsonFeeder;
import ai.vespa.feed.client.OperationParameters;
import ai.vespa.feed.client.Result;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
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

            checkKinds(URI.create(arguments[0]), client, "id:mail:mail:g=" + group + "kinds:");
            String bad = refusal(client, "id:mail:mail:g=" + group + ":bad", "{\"fields\":{\"year\":\"no number\"}}");
            report(bad.contains("400"), "java: a document with a wrong value is refused (" + bad + ")");
            long failures = client.stats().exceptions();
            report(failures == 0, "java: " + failures + " requests were lost on the way");
        }
    }

    /** Every kind of operation and what decides about it, and the reader of many in one stream. */
    private static void checkKinds(URI url, FeedClient client, String prefix) throws Exception {
        OperationParameters none = OperationParameters.empty();
        OperationParameters creating = none.createIfNonExistent(true).timeout(Duration.ofSeconds(7)).tracelevel(2).route("r");
        String assign = "{\"fields\":{\"subject\":{\"assign\":\"z\"},\"year\":{\"assign\":2001}}}";
        Result made = client.update(DocumentId.of(prefix + "1"), assign, creating).get(SECONDS, TimeUnit.SECONDS);
        report(made.type() == Result.Type.success && made.traceMessage().isPresent(), "java: an update makes a document, and is traced");

        String year = "{\"fields\":{\"year\":{\"increment\":1}}}";
        OperationParameters conditional = none.testAndSetCondition("mail.year == 2001");
        Result.Type first = client.update(DocumentId.of(prefix + "1"), year, conditional).get(SECONDS, TimeUnit.SECONDS).type();
        Result.Type second = client.update(DocumentId.of(prefix + "1"), year, conditional).get(SECONDS, TimeUnit.SECONDS).type();
        boolean once = first == Result.Type.success && second == Result.Type.conditionNotMet;
        report(once, "java: a condition holds once (" + first + ", " + second + ")");

        String large = "{\"fields\":{\"subject\":\"" + "x".repeat(3000) + "\"}}";
        Result odd = client.put(DocumentId.of(prefix + "sp ace/sl%ash?ü"), large, none).get(SECONDS, TimeUnit.SECONDS);
        Result gone = client.remove(DocumentId.of(prefix + "sp ace/sl%ash?ü"), none.testAndSetCondition("mail.subject == \"" + "x".repeat(3000) + "\""))
            .get(SECONDS, TimeUnit.SECONDS);
        report(odd.type() == Result.Type.success && gone.type() == Result.Type.success, "java: an odd id, a large body and a conditional remove");

        String stream = "{\"put\":\"" + prefix + "2\",\"fields\":{\"year\":1}}\n{\"update\":\"" + prefix
            + "2\",\"condition\":\"mail.year == 1\",\"fields\":{\"year\":{\"assign\":2}}}\n{\"remove\":\"" + prefix + "1\"}";
        // It closes its client with itself.
        try (JsonFeeder feeder = JsonFeeder.builder(FeedClientBuilder.create(url).build()).build()) {
            feeder.feedMany(new ByteArrayInputStream(stream.getBytes(StandardCharsets.UTF_8))).get(SECONDS, TimeUnit.SECONDS);
        }
        Result.Type left = client.remove(DocumentId.of(prefix + "2"), none.testAndSetCondition("mail.year == 2")).get(SECONDS, TimeUnit.SECONDS).type();
        Result.Type removed = client.remove(DocumentId.of(prefix + "1"), conditional).get(SECONDS, TimeUnit.SECONDS).type();
        boolean streamed = left == Result.Type.success && removed == Result.Type.conditionNotMet;
        report(streamed, "java: a stream of operations happens in its order (" + left + ", " + removed + ")");
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
