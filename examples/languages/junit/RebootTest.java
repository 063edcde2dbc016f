// forewarn run -- mvn test          (as src/test/java/RebootTest.java of a project with JUnit 5)
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class RebootTest {
    private static final String ENDPOINT = System.getenv("FOREWARN_ENDPOINT"); // the VM's metadata service
    private static final String OPERATOR = System.getenv("FOREWARN_URL"); // brings events about, turns the clock
    private static final String DOCUMENT = ENDPOINT + "/metadata/scheduledevents?api-version=2020-07-01";
    private final HttpClient client = HttpClient.newHttpClient();

    private String ask(String url, String body) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create(url)).header("Metadata", "true")
            .header("Content-Type", "application/json");
        if (body != null) request.POST(HttpRequest.BodyPublishers.ofString(body));
        var answer = client.send(request.build(), BodyHandlers.ofString());
        assertTrue(answer.statusCode() < 300, answer.body());
        return answer.body();
    }

    /** Yours goes here: it reads, prepares and approves. */
    private void myApplication() throws IOException, InterruptedException {
        Matcher event = Pattern.compile("\"EventId\":\"([^\"]+)\"").matcher(ask(DOCUMENT, null));
        while (event.find()) ask(DOCUMENT, "{\"StartRequests\":[{\"EventId\":\"" + event.group(1) + "\"}]}");
    }

    @Test
    void aRestartIsApprovedBeforeItsDeadline() throws IOException, InterruptedException {
        String made = ask(OPERATOR + "/v1/vms/restart", "{\"names\":[\"web-0\"]}");
        Matcher id = Pattern.compile("\"id\":\"([^\"]+)\"").matcher(made);
        assertTrue(id.find(), made);
        myApplication();
        ask(OPERATOR + "/v1/clock/advance", "{\"seconds\":900}");
        String story = ask(OPERATOR + "/v1/events/" + id.group(1), null);
        assertTrue(story.contains("\"in_time\":true"), story);
        assertEquals(1, story.split("\"approved_by\":\"web-0\"", -1).length - 1, story);
    }
}
