// Buys one eSIM and prints the answer. Usage: go run ./order PACKAGE_CODE TRANSACTION_ID
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

var client = &http.Client{Timeout: 30 * time.Second}

// newRequestID makes a version 4 UUID. Each attempt takes a fresh one: a RequestID is accepted once.
func newRequestID() string {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		log.Fatal(err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func attempt(operation string, body []byte) (int, []byte, error) {
	appKey := os.Getenv("DEALER_ESIM_APP_KEY")
	timestamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	requestID := newRequestID()
	mac := hmac.New(sha256.New, []byte(os.Getenv("DEALER_ESIM_APP_SECRET")))
	mac.Write([]byte(timestamp + requestID + appKey))
	mac.Write(body)

	url := os.Getenv("DEALER_ESIM_BASE_URL") + "/open-api/v1/" + operation
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("RT-AccessCode", appKey)
	request.Header.Set("RT-RequestID", requestID)
	request.Header.Set("RT-Timestamp", timestamp)
	request.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// call repeats what may be repeated. The body stays, and with it the transactionId: nothing is bought twice.
func call(operation string, request any) (int, []byte, error) {
	// Once: the bytes that are signed are the bytes that are sent.
	body, err := json.Marshal(request)
	if err != nil {
		return 0, nil, err
	}
	for number := 1; ; number++ {
		status, answer, err := attempt(operation, body)
		again := err != nil || status == http.StatusTooManyRequests || status >= 500
		if !again || number == 4 {
			return status, answer, err
		}
		time.Sleep(time.Duration(number) * time.Second)
	}
}

func main() {
	lines := []map[string]any{{"packageCode": os.Args[1], "count": 1}}
	status, answer, err := call("esim/order", map[string]any{"transactionId": os.Args[2], "packageInfoList": lines})
	if err != nil {
		log.Fatalf("no answer, repeat with the same transactionId: %v", err)
	}
	fmt.Println(string(answer))
	if status != http.StatusOK {
		os.Exit(1)
	}
}
