// Tops up or cancels an eSIM, waits for the result and prints it. An eSIM is named by its esimTranNo.
// Usage: go run ./after-sale topup ESIM PACKAGE_CODE TRANSACTION_ID
//
//	go run ./after-sale cancel ESIM TRANSACTION_ID
//
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"example.com/dealer-esim-samples/call"
)

const usage = `Usage: go run ./after-sale topup ESIM PACKAGE_CODE TRANSACTION_ID
       go run ./after-sale cancel ESIM TRANSACTION_ID`

func main() {
	args := os.Args[1:]
	var request map[string]any
	var query, member, wanted string
	switch {
	case len(args) == 4 && args[0] == "topup":
		request = map[string]any{"transactionId": args[3], "esimTranNo": args[1], "packageCode": args[2]}
		query, member, wanted = "esim/query", "orderStatus", "DELIVERED"
	case len(args) == 3 && args[0] == "cancel":
		// The action is repeated in the body, because the signature does not cover the path.
		request = map[string]any{"transactionId": args[2], "action": "CANCEL", "esimTranNo": args[1]}
		query, member, wanted = "esim/action/query", "actionStatus", "DONE"
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	// Accepted is not done: the supplier is asked after the answer. A real shop waits for the event instead.
	answer := call.Call("esim/"+args[0], request)
	for number := 0; number < 30 && isOpen(status(answer, member)); number++ {
		time.Sleep(time.Second)
		answer = call.Call(query, map[string]any{"transactionId": request["transactionId"]})
	}
	fmt.Println(string(answer.Body))
	if answer.Code != "000000" || status(answer, member) != wanted {
		os.Exit(1)
	}
}

// status returns a member of the answer's data; empty if it is missing.
func status(answer call.Answer, member string) string {
	var envelope struct {
		Data map[string]any `json:"data"`
	}
	if json.Unmarshal(answer.Body, &envelope) != nil {
		return ""
	}
	text, _ := envelope.Data[member].(string)
	return text
}

func isOpen(status string) bool {
	return status == "PAID" || status == "ALLOCATING" || status == "PENDING"
}
