// NOT RUN HERE: forewarn run -- dotnet test          (in a project made by: dotnet new xunit)
using System;
using System.Net.Http;
using System.Text;
using System.Text.Json;
using System.Threading.Tasks;
using Xunit;

public class RebootTests
{
    static readonly string Endpoint = Environment.GetEnvironmentVariable("FOREWARN_ENDPOINT")!; // the VM's service
    static readonly string Operator = Environment.GetEnvironmentVariable("FOREWARN_URL")!; // events and the clock
    static readonly string Document = Endpoint + "/metadata/scheduledevents?api-version=2020-07-01";
    readonly HttpClient client = new() { DefaultRequestHeaders = { { "Metadata", "true" } } };

    async Task<JsonElement> Ask(string url, object? body = null)
    {
        var content = body == null ? null : new StringContent(JsonSerializer.Serialize(body), Encoding.UTF8, "application/json");
        var answer = body == null ? await client.GetAsync(url) : await client.PostAsync(url, content);
        var text = await answer.Content.ReadAsStringAsync();
        Assert.True(answer.IsSuccessStatusCode, text);
        return text == "" ? default : JsonDocument.Parse(text).RootElement;
    }

    // Yours goes here: it reads, prepares and approves.
    async Task MyApplication()
    {
        foreach (var seen in (await Ask(Document)).GetProperty("Events").EnumerateArray())
            await Ask(Document, new { StartRequests = new[] { new { EventId = seen.GetProperty("EventId").GetString() } } });
    }

    [Fact]
    public async Task ARestartIsApprovedBeforeItsDeadline()
    {
        var made = await Ask(Operator + "/v1/vms/restart", new { names = new[] { "web-0" } });
        await MyApplication();
        await Ask(Operator + "/v1/clock/advance", new { seconds = 900 });
        var id = made.GetProperty("events")[0].GetProperty("id").GetString();
        var story = await Ask(Operator + "/v1/events/" + id);
        Assert.True(story.GetProperty("in_time").GetBoolean());
        Assert.Equal("web-0", story.GetProperty("approved_by").GetString());
    }
}
