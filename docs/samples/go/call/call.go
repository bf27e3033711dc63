// Package call makes the signed calls of the other samples, with retries.
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
package call

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

// newRequestID generates a version 4 UUID. Each attempt uses a new one: a RequestID is accepted once.
func newRequestID() string {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		log.Fatal(err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Answer is the response; Code is empty if it is not an answer of a gateway, such as a proxy's page.
type Answer struct {
	Status     int
	RetryAfter time.Duration
	Body       []byte
	Code       string
}

func attempt(operation string, body []byte) (Answer, error) {
	appKey := os.Getenv("DEALER_ESIM_APP_KEY")
	timestamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	requestID := newRequestID()
	mac := hmac.New(sha256.New, []byte(os.Getenv("DEALER_ESIM_APP_SECRET")))
	mac.Write([]byte(timestamp + requestID + appKey))
	mac.Write(body)

	url := os.Getenv("DEALER_ESIM_BASE_URL") + "/open-api/v1/" + operation
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("RT-AccessCode", appKey)
	request.Header.Set("RT-RequestID", requestID)
	request.Header.Set("RT-Timestamp", timestamp)
	request.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, err
	}
	var envelope struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(text, &envelope) != nil {
		envelope.Code = ""
	}
	// Zero without the header, or if it is a date.
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return Answer{response.StatusCode, time.Duration(seconds) * time.Second, text, envelope.Code}, nil
}

// Call retries where that is safe. The body, including the transactionId, stays the same, so nothing happens twice. It ends the
// program where there is no answer of a gateway.
func Call(operation string, request any) Answer {
	// Serialised once: the bytes that are signed are the bytes that are sent.
	body, err := json.Marshal(request)
	if err != nil {
		log.Fatal(err)
	}
	for number := 1; ; number++ {
		got, err := attempt(operation, body)
		// 101006: a proxy or library repeated the request.
		again := err != nil || got.Status == http.StatusTooManyRequests || got.Status >= 500 || got.Code == "101006"
		if !again || number == 4 {
			if err != nil {
				log.Fatalf("no answer, repeat with the same transactionId: %v", err)
			}
			if got.Code == "" {
				log.Fatalf("HTTP %d: this is not an answer of a gateway, repeat with the same transactionId", got.Status)
			}
			return got
		}
		wait := time.Duration(number) * time.Second
		if got.RetryAfter > wait {
			wait = got.RetryAfter
		}
		time.Sleep(wait)
	}
}
