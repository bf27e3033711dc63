<?php
declare(strict_types=1);

namespace DealerEsim\Http;

use DealerEsim\Exception\NetworkFault;
use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/** Sends requests with any PSR-18 client. Its time-out is set in that client, which must not follow redirects or retry. */
final class Psr18Transport implements Transport
{
    public function __construct(
        private readonly ClientInterface $client,
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
    ) {
    }

    public function send(string $url, array $headers, string $body, float $timeoutS): Answer
    {
        $request = $this->requests->createRequest('POST', $url)->withBody($this->streams->createStream($body));
        foreach ($headers as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        try {
            $response = $this->client->sendRequest($request);
            $received = [];
            foreach (array_keys($response->getHeaders()) as $name) {
                $received[strtolower((string) $name)] = $response->getHeaderLine((string) $name);
            }
            return new Answer($response->getStatusCode(), $received, (string) $response->getBody());
        } catch (ClientExceptionInterface $error) {
            // PSR-18 does not say whether the request was sent.
            throw new NetworkFault("No answer: {$error->getMessage()}.", outcomeUnknown: true, previous: $error);
        }
    }
}
