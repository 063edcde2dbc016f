// The same answer from Go's net/http: header check, version check, look-up among the VMs, the same header fields.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

func main() {
	address, vms, server, body := os.Args[1], os.Args[2], os.Args[3], []byte(os.Args[4])
	count, err := strconv.Atoi(vms)
	if err != nil {
		log.Fatal(err)
	}
	documents := make(map[string][]byte, count)
	for number := 0; number < count; number++ {
		documents["web-"+strconv.Itoa(number)] = body
	}
	var requests uint64
	handler := func(w http.ResponseWriter, r *http.Request) {
		path := strings.Split(r.URL.Path, "/")
		if !strings.EqualFold(r.Header.Get("Metadata"), "true") || r.URL.RawQuery != "api-version=2020-07-01" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if len(path) != 5 || path[1] != "vm" || path[3] != "metadata" || path[4] != "scheduledevents" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		document, found := documents[path[2]]
		if !found {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		head := w.Header()
		head.Set("Content-Type", "application/json; charset=utf-8")
		head.Set("ETag", `"1"`)
		head.Set("Server", server)
		head.Set("x-ms-request-id", fmt.Sprintf("00000000-0000-4000-8000-%012x", atomic.AddUint64(&requests, 1)))
		_, _ = w.Write(document)
	}
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(handler)))
}
