// Prints X-Signature. Usage: go run ./sign TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
)

func sign(appSecret, timestamp, requestID, appKey string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(appSecret))
	mac.Write([]byte(timestamp + requestID + appKey))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "Usage: go run ./sign TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY")
		os.Exit(2)
	}
	args := os.Args[1:]
	fmt.Println(sign(args[3], args[0], args[1], args[2], []byte(args[4])))
}
