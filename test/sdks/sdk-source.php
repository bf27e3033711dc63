<?php
// Loads the PHP SDK from its sources, as Composer would from a package.
declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/../../sdks/php/src/' . str_replace(['DealerEsim\\', '\\'], ['', '/'], $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
