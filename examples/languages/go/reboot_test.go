// forewarn run -- go test ./...
package reboot

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"testing"
)

var endpoint = os.Getenv("FOREWARN_ENDPOINT") // the VM's metadata service
var operator = os.Getenv("FOREWARN_URL")      // brings events about and turns the clock

const document = "/metadata/scheduledevents?api-version=2020-07-01"

// ask sends JSON and reads JSON; an answer that is no success ends the test with its text.
func ask(t *testing.T, method, url string, body, found any) {
	t.Helper()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, url, sent)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Metadata", "true")
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, url, answer.StatusCode, text)
	}
	if found != nil {
		if err := json.Unmarshal(text, found); err != nil {
			t.Fatal(err)
		}
	}
}

// Yours goes here: it reads, prepares and approves.
func myApplication(t *testing.T) {
	var seen struct{ Events []struct{ EventId string } }
	ask(t, "GET", endpoint+document, nil, &seen)
	for _, event := range seen.Events {
		approval := map[string]any{"StartRequests": []any{map[string]string{"EventId": event.EventId}}}
		ask(t, "POST", endpoint+document, approval, nil)
	}
}

func TestARestartIsApprovedBeforeItsDeadline(t *testing.T) {
	var made struct{ Events []struct{ ID string } }
	ask(t, "POST", operator+"/v1/vms/restart", map[string]any{"names": []string{"web-0"}}, &made)
	myApplication(t)
	ask(t, "POST", operator+"/v1/clock/advance", map[string]int{"seconds": 900}, nil)
	var story struct {
		InTime     *bool  `json:"in_time"`
		ApprovedBy string `json:"approved_by"`
	}
	ask(t, "GET", operator+"/v1/events/"+made.Events[0].ID, nil, &story)
	if story.InTime == nil || !*story.InTime || story.ApprovedBy != "web-0" {
		t.Fatalf("not approved before its deadline: %+v", story)
	}
}
