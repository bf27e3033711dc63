// Buys one eSIM and prints the answer. Usage: go run ./order PACKAGE_CODE TRANSACTION_ID
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET. Standard library only.
package main

import (
	"fmt"
	"os"

	"example.com/dealer-esim-samples/call"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "Usage: go run ./order PACKAGE_CODE TRANSACTION_ID")
		os.Exit(2)
	}
	lines := []map[string]any{{"packageCode": os.Args[1], "count": 1}}
	answer := call.Call("esim/order", map[string]any{"transactionId": os.Args[2], "packageInfoList": lines})
	fmt.Println(string(answer.Body))
	if answer.Code != "000000" {
		os.Exit(1)
	}
}
