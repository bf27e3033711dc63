<?php
// The endpoint for `dealer-esim certify`, before the smallest shop that passes. Replace the shop by your own integration, and keep
// the endpoint in your test environment.
//
//     DEALER_ESIM_BASE_URL=http://127.0.0.1:4646 DEALER_ESIM_APP_KEY=… DEALER_ESIM_APP_SECRET=… php -S 127.0.0.1:3000 certify_shop.php
declare(strict_types=1);

use DealerEsim\Client;
use DealerEsim\Event;
use DealerEsim\Exception\DealerEsimException;
use DealerEsim\Webhook;

require getenv('SHOP_AUTOLOAD') ?: __DIR__ . '/vendor/autoload.php';

final class Shop
{
    private const ENDS = ['DELIVERED' => 'DELIVERED', 'PARTIALLY_DELIVERED' => 'PARTIALLY_DELIVERED', 'FAILED' => 'FAILED', 'CANCELLED' => 'FAILED'];
    private Client $esim;

    public function __construct(private PDO $database, #[\SensitiveParameter] private string $appSecret)
    {
        $this->esim = new Client(getenv('DEALER_ESIM_BASE_URL'), getenv('DEALER_ESIM_APP_KEY'), $appSecret, timeoutS: 10, retries: 1);
        $database->exec("create table if not exists purchases (transaction_id text primary key, reference text, lines text,
            status text default 'PENDING', esims integer default 0, refunded_amount integer default 0, handed_over integer default 0)");
    }

    /** The checkout: the purchase has its transactionId before the gateway is called. */
    public function order(string $reference, string $packageCode, int $count, int $price): void
    {
        $lines = json_encode([['packageCode' => $packageCode, 'count' => $count, 'price' => $price]]);
        $transactionId = Client::newTransactionId();
        $this->rows('insert into purchases (transaction_id, reference, lines) values (?, ?, ?)', $transactionId, $reference, $lines);
        $this->buy($transactionId, $lines);
    }

    /** A job for each minute: repeats what is open, under the same transactionId. */
    public function settle(): void
    {
        foreach ($this->rows("select transaction_id, lines from purchases where status = 'PENDING'") as $purchase) {
            $this->buy($purchase['transaction_id'], $purchase['lines']);
        }
    }

    private function buy(string $transactionId, string $lines): void
    {
        try {
            $this->esim->order(['transactionId' => $transactionId, 'packageInfoList' => json_decode($lines, true)]);
            $this->refresh($transactionId);
        } catch (DealerEsimException $error) {
            $status = $error->httpStatus ?? 500;
            $isOpen = $error->outcomeUnknown || $status >= 500 || $status === 429 || $error->errorCode === '101001';
            if (!$isOpen) {
                $this->rows("update purchases set status = 'REFUSED' where transaction_id = ?", $transactionId);
            }
        }
    }

    private function refresh(string $transactionId): void
    {
        $order = $this->esim->query(['transactionId' => $transactionId]);
        $status = self::ENDS[$order->orderStatus] ?? 'PENDING';
        $update = 'update purchases set status = ?, esims = ?, refunded_amount = ? where transaction_id = ?';
        $this->rows($update, $status, count($order->profileList), $order->refundedAmount, $transactionId);
        if (str_contains($status, 'DELIVERED')) { // mail the links, once
            $this->rows('update purchases set handed_over = 1 where transaction_id = ? and handed_over = 0', $transactionId);
        }
    }

    /** An event says that something changed, the order says what: it does not matter how often and in which sequence they come. */
    private function event(Event $event): void
    {
        $transactionId = $event->content->members['transactionId'] ?? null;
        if ($this->rows('select 1 from purchases where transaction_id = ?', $transactionId) !== []) {
            $this->refresh($transactionId);
        }
    }

    /** @return array<string, mixed> */
    public function believed(string $reference): array
    {
        return $this->rows('select status, esims, refunded_amount as refundedAmount, handed_over as handedOver
            from purchases where reference = ?', $reference)[0] ?? [];
    }

    public function receive(string $body): void
    {
        $answer = Webhook::receive($this->appSecret, $_SERVER['REQUEST_METHOD'], getallheaders(), $body, $this->event(...));
        http_response_code($answer->status);
        echo $answer->text;
    }

    /** @return list<array<string, mixed>> */
    private function rows(string $statement, mixed ...$values): array
    {
        $query = $this->database->prepare($statement);
        $query->execute($values);
        return $query->fetchAll(PDO::FETCH_ASSOC);
    }
}

$shop = new Shop(new PDO('sqlite:' . (getenv('SHOP_DATABASE') ?: 'certify.sqlite3')), (string) getenv('DEALER_ESIM_APP_SECRET'));
$body = (string) file_get_contents('php://input');
if ($_SERVER['REQUEST_URI'] === '/esim-events') {
    $shop->receive($body);
    return;
}
$given = json_decode($body, true) ?? ['command' => null];
match ($given['command']) {
    'order' => $shop->order($given['reference'], $given['packageCode'], $given['count'], $given['price']),
    'settle' => $shop->settle(),
    default => null,
};
header('Content-Type: application/json');
echo json_encode((object) $shop->believed($given['reference'] ?? ''));
