// List the Scheduled Events of this VM, or approve some.
//
//   ScheduledEvents                    one line for each event
//   ScheduledEvents approve EVENT_ID   let an event start now
//
// SCHEDULED_EVENTS_URL points it elsewhere, to a VM of a forewarn region for instance: http://127.0.0.1:16925/vm/web-0
//
// Only what .NET and Mono both have:
//   mcs -r:System.Net.Http -r:System.Runtime.Serialization ScheduledEvents.cs && mono ScheduledEvents.exe

using System;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Text;

[DataContract]
public class ScheduledEvent
{
    [DataMember] public string EventId { get; set; }
    [DataMember] public string EventType { get; set; }
    [DataMember] public string EventStatus { get; set; }
    [DataMember] public string[] Resources { get; set; }
    [DataMember] public string NotBefore { get; set; }
}

[DataContract]
public class EventDocument
{
    [DataMember] public int DocumentIncarnation { get; set; }
    [DataMember] public ScheduledEvent[] Events { get; set; }
}

[DataContract]
public class StartRequest
{
    [DataMember] public string EventId { get; set; }
}

[DataContract]
public class Approval
{
    [DataMember] public StartRequest[] StartRequests { get; set; }
}

public class ScheduledEventsClient : IDisposable
{
    private readonly HttpClient http;
    private readonly string address;

    public ScheduledEventsClient(string service)
    {
        address = service.TrimEnd('/') + "/metadata/scheduledevents?api-version=2020-07-01";
        // The service is on this machine's own link: a proxy must never see these requests.
        http = new HttpClient(new HttpClientHandler { UseProxy = false });
        // The first call of a VM switches the service on, which may take two minutes.
        http.Timeout = TimeSpan.FromSeconds(130);
        http.DefaultRequestHeaders.Add("Metadata", "true");
    }

    public ScheduledEvent[] List()
    {
        using (var response = http.GetAsync(address).GetAwaiter().GetResult())
        {
            var body = Checked(response);
            if (body.Trim().Length == 0)
            {
                return new ScheduledEvent[0]; // an empty answer has been seen: nothing to say
            }
            using (var stream = new MemoryStream(Encoding.UTF8.GetBytes(body)))
            {
                var document = (EventDocument)new DataContractJsonSerializer(typeof(EventDocument)).ReadObject(stream);
                return document.Events ?? new ScheduledEvent[0];
            }
        }
    }

    public void Approve(params string[] eventIds)
    {
        var approval = new Approval { StartRequests = eventIds.Select(id => new StartRequest { EventId = id }).ToArray() };
        using (var stream = new MemoryStream())
        {
            new DataContractJsonSerializer(typeof(Approval)).WriteObject(stream, approval);
            var content = new StringContent(Encoding.UTF8.GetString(stream.ToArray()), Encoding.UTF8, "application/json");
            using (var response = http.PostAsync(address, content).GetAwaiter().GetResult())
            {
                Checked(response);
            }
        }
    }

    public void Dispose()
    {
        http.Dispose();
    }

    private static string Checked(HttpResponseMessage response)
    {
        var body = response.Content.ReadAsStringAsync().GetAwaiter().GetResult();
        if (!response.IsSuccessStatusCode)
        {
            throw new HttpRequestException("The service answered " + (int)response.StatusCode + ": " + body);
        }
        return body;
    }
}

public static class Program
{
    public static int Main(string[] arguments)
    {
        var service = Environment.GetEnvironmentVariable("SCHEDULED_EVENTS_URL") ?? "http://169.254.169.254";
        using (var client = new ScheduledEventsClient(service))
        {
            try
            {
                return Run(client, arguments);
            }
            catch (HttpRequestException problem)
            {
                Console.Error.WriteLine(problem.Message);
                return 1;
            }
        }
    }

    private static int Run(ScheduledEventsClient client, string[] arguments)
    {
        if (arguments.Length == 0 || (arguments.Length == 1 && arguments[0] == "list"))
        {
            foreach (var found in client.List())
            {
                var notBefore = string.IsNullOrEmpty(found.NotBefore) ? "now" : found.NotBefore;
                var names = string.Join(",", found.Resources);
                Console.WriteLine(string.Join("\t", found.EventId, found.EventType, found.EventStatus, names, notBefore));
            }
            return 0;
        }
        if (arguments[0] == "approve" && arguments.Length > 1)
        {
            client.Approve(arguments.Skip(1).ToArray());
            return 0;
        }
        Console.Error.WriteLine("usage: ScheduledEvents [list | approve EVENT_ID ...]");
        return 2;
    }
}
