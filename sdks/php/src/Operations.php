<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim;

use DealerEsim\Model\AccountBalanceAnswer;
use DealerEsim\Model\AccountStatementAnswer;
use DealerEsim\Model\AccountStatementAnswerEntry;
use DealerEsim\Model\Action;
use DealerEsim\Model\ActionResult;
use DealerEsim\Model\BrandListAnswer;
use DealerEsim\Model\DeviceListAnswer;
use DealerEsim\Model\EsimOrderDryRunAnswer;
use DealerEsim\Model\EsimOrderResult;
use DealerEsim\Model\EsimProfileListAnswer;
use DealerEsim\Model\EsimProfileSendResult;
use DealerEsim\Model\EsimQueryAnswer;
use DealerEsim\Model\EsimTopupDryRunAnswer;
use DealerEsim\Model\EsimTopupResult;
use DealerEsim\Model\EsimUsageQueryAnswer;
use DealerEsim\Model\HealthAnswer;
use DealerEsim\Model\LedgerCheckpointAnswer;
use DealerEsim\Model\LedgerConsistencyAnswer;
use DealerEsim\Model\LedgerKeysAnswer;
use DealerEsim\Model\LedgerProofAnswer;
use DealerEsim\Model\LocationListAnswer;
use DealerEsim\Model\OrderListAnswer;
use DealerEsim\Model\OrderListAnswerOrder;
use DealerEsim\Model\PackageListAnswer;
use DealerEsim\Model\PackageOffSale;
use DealerEsim\Model\PackageOnSale;
use DealerEsim\Model\Profile;
use DealerEsim\Model\TestClockAdvanceAnswer;
use DealerEsim\Model\WebhookSetAnswer;
use DealerEsim\Model\WebhookTestAnswer;

/**
 * The operations of Client, which sends them. A request is an array with the members of the API; an answer is an
 * object with them.
 * Each method takes `$timeoutS`, the limit in seconds for each attempt, and `$retries`, the attempts after the first.
 */
abstract class Operations
{
    /**
     * @param array<string, mixed> $request
     * @return array<string, mixed>
     */
    abstract public function call(string $operation, array $request = [], ?float $timeoutS = null, ?int $retries = null): array;

    /**
     * @param array<string, mixed> $request
     * @return array<string, mixed>
     */
    abstract protected function callOnce(string $operation, array $request, ?float $timeoutS, ?int $retries): array;

    /**
     * @param array<string, mixed> $request
     * @return \Generator<int, array<string, mixed>>
     */
    abstract protected function each(string $operation, string $rows, array $request, ?float $timeoutS, ?int $retries): \Generator;

    /**
     * `health`: check the connection. Returns the tenant that the credentials belong to. The first call of an
     * integration.
     */
    public function health(?float $timeoutS = null, ?int $retries = null): HealthAnswer
    {
        return new HealthAnswer($this->call('health', [], $timeoutS, $retries));
    }

    /**
     * `account/balance`: get the balance. Returns the prepaid balance that orders are debited from, and how far below
     * zero it may go.
     */
    public function balance(?float $timeoutS = null, ?int $retries = null): AccountBalanceAnswer
    {
        return new AccountBalanceAnswer($this->call('account/balance', [], $timeoutS, $retries));
    }

    /**
     * `package/list`: list packages. Returns the packages that this tenant may buy now, at its own prices; with
     * `updatedSince`, only those that changed.
     * @param array{type?: string, esimTranNo?: string, iccid?: string, packageCode?: string, slug?: string, locationCode?: string, coversAll?: list<string>, volumeMin?: int, durationMin?: int, keyword?: string, updatedSince?: string, pageSize?: int, cursor?: string} $request
     */
    public function packages(array $request = [], ?float $timeoutS = null, ?int $retries = null): PackageListAnswer
    {
        return new PackageListAnswer($this->call('package/list', $request, $timeoutS, $retries));
    }

    /**
     * All rows of `packages`, page by page. A page is requested when its first row is needed.
     * @param array{type?: string, esimTranNo?: string, iccid?: string, packageCode?: string, slug?: string, locationCode?: string, coversAll?: list<string>, volumeMin?: int, durationMin?: int, keyword?: string, updatedSince?: string, pageSize?: int, cursor?: string} $request
     * @return \Generator<int, PackageOnSale|PackageOffSale>
     */
    public function eachPackage(array $request = [], ?float $timeoutS = null, ?int $retries = null): \Generator
    {
        foreach ($this->each('package/list', 'packageList', $request, $timeoutS, $retries) as $row) {
            yield match ($row['status'] ?? null) { 'OFF_SALE' => new PackageOffSale($row), default => new PackageOnSale($row) };
        }
    }

    /**
     * `esim/order`: buy eSIMs. Debits the balance and places an order. Idempotent on `transactionId`, without time limit:
     * a repeat returns the first order, with the header `Idempotent-Replayed: true`. A retry needs a new RT-RequestID and
     * the same `transactionId`. With `validateOnly: true`, a dry run: every check is made, nothing is bought and nothing
     * is reserved.
     * @param array{transactionId: string, packageInfoList: list<array{packageCode: string, count: int, price?: int, periodNum?: int, deliverTo?: array{email: string, name?: string, language?: string, brand?: string}, language?: string, brand?: string}>, amount?: int, remark?: string} $request
     */
    public function order(array $request, ?float $timeoutS = null, ?int $retries = null): EsimOrderResult
    {
        return new EsimOrderResult($this->callOnce('esim/order', $request, $timeoutS, $retries));
    }

    /**
     * `esim/order`: makes every check and returns what would be debited. Nothing is bought and nothing is reserved, so
     * the call itself may still be refused. If the request has a `transactionId` that is taken, returns that order.
     * @param array{transactionId?: string, packageInfoList: list<array{packageCode: string, count: int, price?: int, periodNum?: int, deliverTo?: array{email: string, name?: string, language?: string, brand?: string}, language?: string, brand?: string}>, amount?: int, remark?: string} $request
     */
    public function quote(array $request, ?float $timeoutS = null, ?int $retries = null): EsimOrderDryRunAnswer|EsimOrderResult
    {
        $data = $this->callOnce('esim/order', [...$request, 'validateOnly' => true], $timeoutS, $retries);
        return isset($data['validateOnly']) ? new EsimOrderDryRunAnswer($data) : new EsimOrderResult($data);
    }

    /**
     * `esim/topup`: top up an eSIM. Debits the balance and adds a package of type TOPUP to an eSIM. Idempotent on
     * `transactionId`, like `esim/order`; orders, top-ups and actions share transactionIds. `esim/query` returns whether
     * it is delivered. `validateOnly: true` is a dry run, as for `esim/order`.
     * @param array{transactionId: string, esimTranNo?: string, iccid?: string, packageCode: string, periodNum?: int, price?: int, amount?: int, remark?: string} $request
     */
    public function topup(array $request, ?float $timeoutS = null, ?int $retries = null): EsimTopupResult
    {
        return new EsimTopupResult($this->callOnce('esim/topup', $request, $timeoutS, $retries));
    }

    /**
     * `esim/topup`: makes every check and returns what would be debited. Nothing is bought and nothing is reserved, so
     * the call itself may still be refused. If the request has a `transactionId` that is taken, returns that order.
     * @param array{transactionId?: string, esimTranNo?: string, iccid?: string, packageCode: string, periodNum?: int, price?: int, amount?: int, remark?: string} $request
     */
    public function quoteTopup(array $request, ?float $timeoutS = null, ?int $retries = null): EsimTopupDryRunAnswer|EsimTopupResult
    {
        $data = $this->callOnce('esim/topup', [...$request, 'validateOnly' => true], $timeoutS, $retries);
        return isset($data['validateOnly']) ? new EsimTopupDryRunAnswer($data) : new EsimTopupResult($data);
    }

    /**
     * `esim/query`: get an order. Returns one order with its lines, its eSIMs and its status history.
     * @param array{orderNo?: string, transactionId?: string} $request
     */
    public function query(array $request = [], ?float $timeoutS = null, ?int $retries = null): EsimQueryAnswer
    {
        return new EsimQueryAnswer($this->call('esim/query', $request, $timeoutS, $retries));
    }

    /**
     * `esim/profile/list`: list eSIMs. Returns eSIMs with the data that a traveller needs to install them, newest first.
     * Before the first eSIM the list is empty.
     * @param array{orderNo?: string, transactionId?: string, esimTranNo?: string, iccid?: string, esimStatus?: string, smdpStatus?: string, startTime?: string, endTime?: string, pageSize?: int, cursor?: string} $request
     */
    public function profiles(array $request = [], ?float $timeoutS = null, ?int $retries = null): EsimProfileListAnswer
    {
        return new EsimProfileListAnswer($this->call('esim/profile/list', $request, $timeoutS, $retries));
    }

    /**
     * All rows of `profiles`, page by page. A page is requested when its first row is needed.
     * @param array{orderNo?: string, transactionId?: string, esimTranNo?: string, iccid?: string, esimStatus?: string, smdpStatus?: string, startTime?: string, endTime?: string, pageSize?: int, cursor?: string} $request
     * @return \Generator<int, Profile>
     */
    public function eachProfile(array $request = [], ?float $timeoutS = null, ?int $retries = null): \Generator
    {
        foreach ($this->each('esim/profile/list', 'profileList', $request, $timeoutS, $retries) as $row) {
            yield new Profile($row);
        }
    }

    /**
     * `esim/profile/send`: send an eSIM to the traveller. Sends the link of an eSIM by e-mail. Idempotent on
     * `transactionId`, which it shares with orders, top-ups and actions: a repeat sends nothing and returns the same send
     * with its present status.
     * @param array{transactionId: string, esimTranNo?: string, iccid?: string, email: string, name?: string, language?: string, brand?: string} $request
     */
    public function send(array $request, ?float $timeoutS = null, ?int $retries = null): EsimProfileSendResult
    {
        return new EsimProfileSendResult($this->callOnce('esim/profile/send', $request, $timeoutS, $retries));
    }

    /** `brand/list`: list brands. Returns the brands under which travellers see this tenant. They are made on the console. */
    public function brands(?float $timeoutS = null, ?int $retries = null): BrandListAnswer
    {
        return new BrandListAnswer($this->call('brand/list', [], $timeoutS, $retries));
    }

    /**
     * `esim/cancel`: cancel an eSIM. Cancels an eSIM that was not downloaded. Its price, less the fee of the cancel
     * policy, is refunded when the supplier has cancelled it. Idempotent on `transactionId`, like all actions: a repeat
     * returns the same action with its present status.
     * @param array{transactionId: string, esimTranNo?: string, iccid?: string, reason?: string} $request
     */
    public function cancel(array $request, ?float $timeoutS = null, ?int $retries = null): ActionResult
    {
        return new ActionResult($this->callOnce('esim/cancel', [...$request, 'action' => 'CANCEL'], $timeoutS, $retries));
    }

    /**
     * `esim/suspend`: suspend an eSIM. Interrupts the service of an eSIM in use. Its validity goes on.
     * @param array{transactionId: string, esimTranNo?: string, iccid?: string, reason?: string} $request
     */
    public function suspend(array $request, ?float $timeoutS = null, ?int $retries = null): ActionResult
    {
        return new ActionResult($this->callOnce('esim/suspend', [...$request, 'action' => 'SUSPEND'], $timeoutS, $retries));
    }

    /**
     * `esim/unsuspend`: resume a suspended eSIM. Resumes the service of a suspended eSIM.
     * @param array{transactionId: string, esimTranNo?: string, iccid?: string, reason?: string} $request
     */
    public function unsuspend(array $request, ?float $timeoutS = null, ?int $retries = null): ActionResult
    {
        return new ActionResult($this->callOnce('esim/unsuspend', [...$request, 'action' => 'UNSUSPEND'], $timeoutS, $retries));
    }

    /**
     * `esim/revoke`: revoke an eSIM. Ends the service of an eSIM for good. Nothing is refunded.
     * @param array{transactionId: string, esimTranNo?: string, iccid?: string, reason?: string} $request
     */
    public function revoke(array $request, ?float $timeoutS = null, ?int $retries = null): ActionResult
    {
        return new ActionResult($this->callOnce('esim/revoke', [...$request, 'action' => 'REVOKE'], $timeoutS, $retries));
    }

    /**
     * `esim/action/query`: get an action. Returns a cancel, suspend, unsuspend or revoke, with its current status.
     * @param array{actionNo?: string, transactionId?: string} $request
     */
    public function action(array $request = [], ?float $timeoutS = null, ?int $retries = null): Action
    {
        return new Action($this->call('esim/action/query', $request, $timeoutS, $retries));
    }

    /**
     * `webhook/set`: set the webhook. Sets where events are sent. Absent members are not changed, so `{}` reads the
     * setting. A new URL must first answer a CHECK_HEALTH event.
     * @param array{callbackUrl?: string|null, eventTypes?: list<string>, enabled?: bool, usageThresholds?: list<int>, expiryNoticeHours?: list<int>} $request
     */
    public function setWebhook(array $request = [], ?float $timeoutS = null, ?int $retries = null): WebhookSetAnswer
    {
        return new WebhookSetAnswer($this->call('webhook/set', $request, $timeoutS, $retries));
    }

    /**
     * `webhook/test`: test the webhook. Sends one signed event of a type, with sample content and `"test": true`, to the
     * URL as it is set: once, never retried, and whatever the receiver answers, no setting changes. Ten a minute,
     * together with the health checks of `webhook/set`.
     * @param array{notifyType: string} $request
     */
    public function testWebhook(array $request, ?float $timeoutS = null, ?int $retries = null): WebhookTestAnswer
    {
        return new WebhookTestAnswer($this->call('webhook/test', $request, $timeoutS, $retries));
    }

    /**
     * `order/list`: list orders. Returns orders with their lines, newest first, without eSIMs and history: `esim/query`
     * returns those.
     * @param array{orderStatus?: string, orderType?: string, startTime?: string, endTime?: string, pageSize?: int, cursor?: string} $request
     */
    public function orders(array $request = [], ?float $timeoutS = null, ?int $retries = null): OrderListAnswer
    {
        return new OrderListAnswer($this->call('order/list', $request, $timeoutS, $retries));
    }

    /**
     * All rows of `orders`, page by page. A page is requested when its first row is needed.
     * @param array{orderStatus?: string, orderType?: string, startTime?: string, endTime?: string, pageSize?: int, cursor?: string} $request
     * @return \Generator<int, OrderListAnswerOrder>
     */
    public function eachOrder(array $request = [], ?float $timeoutS = null, ?int $retries = null): \Generator
    {
        foreach ($this->each('order/list', 'orderList', $request, $timeoutS, $retries) as $row) {
            yield new OrderListAnswerOrder($row);
        }
    }

    /**
     * `account/statement`: list movements of the balance. Returns the debits, refunds, payments and adjustments of the
     * balance, newest first.
     * @param array{startTime?: string, endTime?: string, kind?: string, pageSize?: int, cursor?: string} $request
     */
    public function statement(array $request = [], ?float $timeoutS = null, ?int $retries = null): AccountStatementAnswer
    {
        return new AccountStatementAnswer($this->call('account/statement', $request, $timeoutS, $retries));
    }

    /**
     * All rows of `statement`, page by page. A page is requested when its first row is needed.
     * @param array{startTime?: string, endTime?: string, kind?: string, pageSize?: int, cursor?: string} $request
     * @return \Generator<int, AccountStatementAnswerEntry>
     */
    public function eachEntry(array $request = [], ?float $timeoutS = null, ?int $retries = null): \Generator
    {
        foreach ($this->each('account/statement', 'entryList', $request, $timeoutS, $retries) as $row) {
            yield new AccountStatementAnswerEntry($row);
        }
    }

    /**
     * `ledger/checkpoint`: get a checkpoint of the ledger. Returns a signed note of the root of the Merkle tree over your
     * entries, so that no entry can be changed, removed or inserted later without your noticing. `{}`: of the newest
     * entry that is in the tree, which is seconds behind the balance, at most one a second.
     * @param array{treeSize?: int} $request
     */
    public function checkpoint(array $request = [], ?float $timeoutS = null, ?int $retries = null): LedgerCheckpointAnswer
    {
        return new LedgerCheckpointAnswer($this->call('ledger/checkpoint', $request, $timeoutS, $retries));
    }

    /**
     * `ledger/proof`: prove an entry. Returns the hashes that prove that an entry of `account/statement` is in the tree
     * of a checkpoint.
     * @param array{entryNo: string, treeSize: int} $request
     */
    public function proof(array $request, ?float $timeoutS = null, ?int $retries = null): LedgerProofAnswer
    {
        return new LedgerProofAnswer($this->call('ledger/proof', $request, $timeoutS, $retries));
    }

    /**
     * `ledger/consistency`: prove that the ledger was only continued. Returns the hashes that prove that the tree of a
     * newer checkpoint begins with all entries of an older one, unchanged.
     * @param array{fromSize: int, toSize: int} $request
     */
    public function consistency(array $request, ?float $timeoutS = null, ?int $retries = null): LedgerConsistencyAnswer
    {
        return new LedgerConsistencyAnswer($this->call('ledger/consistency', $request, $timeoutS, $retries));
    }

    /**
     * `ledger/keys`: list the keys of checkpoints. Returns the public keys that have signed checkpoints of this tenant,
     * each endorsed by its predecessor, and a signed note for each restore from a backup.
     */
    public function ledgerKeys(?float $timeoutS = null, ?int $retries = null): LedgerKeysAnswer
    {
        return new LedgerKeysAnswer($this->call('ledger/keys', [], $timeoutS, $retries));
    }

    /**
     * `location/list`: list locations. Returns all countries (ISO 3166-1), and the regional and global coverage of the
     * packages that this tenant may buy, with names in the language asked for.
     * @param array{language?: string} $request
     */
    public function locations(array $request = [], ?float $timeoutS = null, ?int $retries = null): LocationListAnswer
    {
        return new LocationListAnswer($this->call('location/list', $request, $timeoutS, $retries));
    }

    /**
     * `device/list`: list devices. Returns devices that are known to take an eSIM, from a dated table.
     * @param array{brand?: string, keyword?: string, pageSize?: int, cursor?: string} $request
     */
    public function devices(array $request = [], ?float $timeoutS = null, ?int $retries = null): DeviceListAnswer
    {
        return new DeviceListAnswer($this->call('device/list', $request, $timeoutS, $retries));
    }

    /**
     * `esim/usage/query`: get the usage of eSIMs. Returns data usage, expiry and status of up to 100 eSIMs, as the
     * supplier last reported them.
     * @param array{esimTranNoList: list<string>} $request
     */
    public function usage(array $request, ?float $timeoutS = null, ?int $retries = null): EsimUsageQueryAnswer
    {
        return new EsimUsageQueryAnswer($this->call('esim/usage/query', $request, $timeoutS, $retries));
    }

    /**
     * `test/balance/set`: set the balance of a test account. Sets the balance: the difference is posted as an ADJUSTMENT,
     * none if there is no difference. Answers as `account/balance`. Only for test accounts; elsewhere 000109, as for all
     * operations that begin with `test/`.
     * @param array{balance: int} $request
     */
    public function setTestBalance(array $request, ?float $timeoutS = null, ?int $retries = null): AccountBalanceAnswer
    {
        return new AccountBalanceAnswer($this->call('test/balance/set', $request, $timeoutS, $retries));
    }

    /**
     * `test/esim/update`: report a state or usage of a test eSIM. Does what a report of the supplier does: states, usage
     * and events follow by the ordinary rules, and a step backwards is ignored. Returns the eSIM as it is afterwards.
     * @param array{esimTranNo?: string, iccid?: string, smdpStatus?: string, orderUsage?: int, usedPercent?: int} $request
     */
    public function updateTestEsim(array $request = [], ?float $timeoutS = null, ?int $retries = null): Profile
    {
        return new Profile($this->call('test/esim/update', $request, $timeoutS, $retries));
    }

    /**
     * `test/clock/advance`: advance the test time. Moves the time of this account forward. What the time brings happens
     * in its order: notices, expiry, usage of sandbox packages, the end of cancel periods, repeated attempts to send
     * events. What has happened keeps its time.
     * @param array{hours: int, fromTime?: string} $request
     */
    public function advanceTestClock(array $request, ?float $timeoutS = null, ?int $retries = null): TestClockAdvanceAnswer
    {
        return new TestClockAdvanceAnswer($this->call('test/clock/advance', $request, $timeoutS, $retries));
    }

    /**
     * `test/order/resolve`: end a test order. Ends an order that a sandbox package has left ALLOCATING or UNDER_REVIEW,
     * as if its supplier had answered at last. An order that has ended is returned as it is.
     * @param array{orderNo: string, outcome: string} $request
     */
    public function resolveTestOrder(array $request, ?float $timeoutS = null, ?int $retries = null): EsimQueryAnswer
    {
        return new EsimQueryAnswer($this->call('test/order/resolve', $request, $timeoutS, $retries));
    }
}
