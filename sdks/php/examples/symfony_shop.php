<?php
// A shop in one Symfony file: an order at checkout, the webhook's route, and nothing lost on a time-out.
//
//     DEALER_ESIM_BASE_URL=… DEALER_ESIM_APP_KEY=… DEALER_ESIM_APP_SECRET=… php -S 127.0.0.1:8000 symfony_shop.php
//
// Every purchase has a row with its transactionId before the gateway is called. Whatever happens to the call,
// `php symfony_shop.php settle`, which cron runs each minute, repeats it with that transactionId until the outcome is known. The
// gateway debits it once.
declare(strict_types=1);

use DealerEsim\Client;
use DealerEsim\Event;
use DealerEsim\Exception\DealerEsimException;
use DealerEsim\Webhook;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

require getenv('SHOP_AUTOLOAD') ?: __DIR__ . '/vendor/autoload.php';

final class Shop extends Kernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle()];
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', ['secret' => 'example']);
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('checkout', '/checkout')->controller([$this, 'checkout'])->methods(['POST']);
        $routes->add('events', '/esim-events')->controller([$this, 'webhook']);
    }

    public function checkout(Request $request): JsonResponse
    {
        $transactionId = Client::newTransactionId();
        $packageCode = (string) $request->request->get('packageCode');
        self::rows('insert into purchases (transaction_id, package_code) values (?, ?)', $transactionId, $packageCode);
        return new JsonResponse(['transactionId' => $transactionId, 'status' => $this->buy($transactionId, $packageCode)]);
    }

    /** Orders, or repeats an order whose outcome is unknown. */
    public function buy(string $transactionId, string $packageCode): string
    {
        [$url, $key, $secret] = array_map('getenv', ['DEALER_ESIM_BASE_URL', 'DEALER_ESIM_APP_KEY', 'DEALER_ESIM_APP_SECRET']);
        $esim = new Client($url, $key, $secret, timeoutS: 10, retries: 0);
        $lines = [['packageCode' => $packageCode, 'count' => 1]];
        try {
            $status = $esim->order(['transactionId' => $transactionId, 'packageInfoList' => $lines])->orderStatus;
        } catch (DealerEsimException $error) {
            $isOpen = $error->outcomeUnknown || in_array($error->httpStatus, [null, 429, 503], true);
            $status = $isOpen ? 'UNKNOWN' : "REFUSED $error->errorCode";
        }
        // An event may have arrived before the answer.
        self::rows('update purchases set status = ? where transaction_id = ? and sequence = 0', $status, $transactionId);
        return self::rows('select status from purchases where transaction_id = ?', $transactionId)[0]['status'];
    }

    public function webhook(Request $request): Response
    {
        $headers = $request->headers->all();
        $secret = (string) getenv('DEALER_ESIM_APP_SECRET');
        $answer = Webhook::receive($secret, $request->getMethod(), $headers, $request->getContent(), self::store(...));
        return new Response($answer->text, $answer->status, ['Content-Type' => 'text/plain']);
    }

    /** Events repeat and overtake each other: the highest sequence counts. */
    private static function store(Event $event): void
    {
        if (in_array($event->notifyType, ['ORDER_PAID', 'DELIVERY_UPDATED'], true)) {
            $update = 'update purchases set status = ?, sequence = ? where transaction_id = ? and sequence < ?';
            $content = $event->content;
            self::rows($update, $content->orderStatus, $content->sequence, $content->transactionId, $content->sequence);
        }
    }

    /** @return list<array<string, mixed>> */
    public static function rows(string $statement, mixed ...$values): array
    {
        $database = new PDO('sqlite:' . (getenv('SHOP_DATABASE') ?: 'shop.sqlite3'));
        $database->exec("create table if not exists purchases (transaction_id text primary key, package_code text not null,
            status text not null default 'UNKNOWN', sequence integer not null default 0)");
        $query = $database->prepare($statement);
        $query->execute($values);
        return $query->fetchAll(PDO::FETCH_ASSOC);
    }
}

$shop = new Shop('prod', false);
if (($argv[1] ?? '') === 'settle') {
    foreach (Shop::rows("select * from purchases where status = 'UNKNOWN'") as ['transaction_id' => $id, 'package_code' => $code]) {
        echo $id, ' ', $shop->buy($id, $code), "\n";
    }
    exit;
}
$request = Request::createFromGlobals();
$response = $shop->handle($request);
$response->send();
$shop->terminate($request, $response);
