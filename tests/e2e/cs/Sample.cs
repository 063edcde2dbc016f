// The C# sample of Microsoft's page on Scheduled Events as printed there: the class, with the calls that its Main makes.
// It reads JSON with Newtonsoft.Json, which Mono does not have; that part is done with regular expressions here.

using System;
using System.Linq;
using System.Net;
using System.Text.RegularExpressions;

public class ScheduledEventsClient
{
    private readonly string scheduledEventsEndpoint;
    private readonly string defaultIpAddress = "169.254.169.254"; 

    // Set up the scheduled events URI for a VNET-enabled VM
    public ScheduledEventsClient()
    {
        scheduledEventsEndpoint = string.Format("http://{0}/metadata/scheduledevents?api-version=2017-03-01", defaultIpAddress);
    }

    // Get events
    public string GetScheduledEvents()
    {
        Uri cloudControlUri = new Uri(scheduledEventsEndpoint);
        using (var webClient = new WebClient())
        {
            webClient.Headers.Add("Metadata", "true");
            return webClient.DownloadString(cloudControlUri);
        }   
    }

    // Approve events
    public void ApproveScheduledEvents(string jsonPost)
    {
        using (var webClient = new WebClient())
        {
            webClient.Headers.Add("Content-Type", "application/json");
            webClient.UploadString(scheduledEventsEndpoint, jsonPost);
        }
    }
}

public class Program
{
    static void Main(string[] args)
    {
        var client = new ScheduledEventsClient();
        string json = client.GetScheduledEvents();
        Console.WriteLine(json);
        string incarnation = Regex.Match(json, "\"DocumentIncarnation\":\\s*(\\d+)").Groups[1].Value;
        var ids = Regex.Matches(json, "\"EventId\":\\s*\"([^\"]+)\"").Cast<Match>().Select(each => each.Groups[1].Value);
        var requests = string.Join(",", ids.Select(id => "{\"EventId\":\"" + id + "\"}"));
        if (requests.Length > 0)
        {
            client.ApproveScheduledEvents(
                "{\"DocumentIncarnation\":\"" + incarnation + "\",\"StartRequests\":[" + requests + "]}");
        }
    }
}
