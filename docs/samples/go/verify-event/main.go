// Verifies an event. Reads the body from standard input, byte for byte as received.
// Usage: go run ./verify-event WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"time"
)

func verify(appSecret, id, timestamp, signatures string, body []byte) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 300*time.Second {
		return false
	}
	mac := hmac.New(sha256.New, []byte(appSecret))
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// In a grace period there are two signatures; one that matches is enough.
	for _, given := range strings.Fields(signatures) {
		if hmac.Equal(expected, []byte(given)) {
			return true
		}
	}
	return false
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "Usage: go run ./verify-event WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body")
		os.Exit(2)
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	if !verify(os.Getenv("DEALER_ESIM_APP_SECRET"), os.Args[1], os.Args[2], os.Args[3], body) {
		fmt.Println("not genuine")
		os.Exit(1)
	}
	fmt.Println("genuine")
}
