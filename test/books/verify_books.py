"""Verifies ledger proofs and checkpoints from the text of the RFCs, independently of the gateway's code.

Reads one JSON document from standard input (see books.test.ts) and writes one line for each thing that does not hold.
RFC 9162 section 2.1 (tree and proofs, by their recursive definitions), RFC 8785 (canonical JSON), RFC 8032 section 6 (Ed25519),
C2SP signed-note. Needs nothing but Python's standard library.
"""
import base64
import hashlib
import json
import sys

MEMBERS = ["entryNo", "kind", "amount", "balanceAfter", "currencyCode", "orderNo", "transactionId", "esimTranNo",
           "actionNo", "reference", "createTime"]


def sha256(data):
    return hashlib.sha256(data).digest()


# RFC 8785 for objects of strings, null and integers.
def canonical(entry):
    text = json.dumps({name: entry[name] for name in MEMBERS}, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


def leaf_hash(text):
    return sha256(b"\x00" + text)


def split(n):
    k = 1
    while k * 2 < n:
        k *= 2
    return k


# RFC 9162 section 2.1.1
def mth(leaves):
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:]))


# Section 2.1.3.1
def path(m, leaves):
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return path(m, leaves[:k]) + [mth(leaves[k:])]
    return path(m - k, leaves[k:]) + [mth(leaves[:k])]


# Section 2.1.3.2
def inclusion_holds(leaf, index, size, proof, root):
    if index >= size:
        return False
    fn, sn, r = index, size - 1, leaf
    for p in proof:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = sha256(b"\x01" + p + r)
            if not fn & 1:
                while not (fn & 1 or fn == 0):
                    fn >>= 1
                    sn >>= 1
        else:
            r = sha256(b"\x01" + r + p)
        fn >>= 1
        sn >>= 1
    return sn == 0 and r == root


# Section 2.1.4.1
def subproof(m, leaves, known):
    n = len(leaves)
    if m == n:
        return [] if known else [mth(leaves)]
    k = split(n)
    if m <= k:
        return subproof(m, leaves[:k], known) + [mth(leaves[k:])]
    return subproof(m - k, leaves[k:], False) + [mth(leaves[:k])]


# Section 2.1.4.2
def consistency_holds(first, first_root, second, second_root, proof):
    if first == second:
        return not proof and first_root == second_root
    if not proof:
        return False
    if first & (first - 1) == 0:
        proof = [first_root] + proof
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn >>= 1
        sn >>= 1
    fr = sr = proof[0]
    for c in proof[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr = sha256(b"\x01" + c + fr)
            sr = sha256(b"\x01" + c + sr)
            if not fn & 1:
                while not (fn & 1 or fn == 0):
                    fn >>= 1
                    sn >>= 1
        else:
            sr = sha256(b"\x01" + sr + c)
        fn >>= 1
        sn >>= 1
    return fr == first_root and sr == second_root and sn == 0


# RFC 8032 section 5.1 and the sample code of section 6.
P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(s, point):
    result = (0, 1, 1, 0)
    while s > 0:
        if s & 1:
            result = add(result, point)
        point = add(point, point)
        s >>= 1
    return result


def recover_x(y, sign):
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if x2 == 0:
        return None if sign else 0
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P != 0:
        x = x * SQRT_M1 % P
    if (x * x - x2) % P != 0:
        return None
    return P - x if (x & 1) != sign else x


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = recover_x(BASE_Y, 0)
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def decompress(data):
    y = int.from_bytes(data, "little")
    sign = y >> 255
    y &= (1 << 255) - 1
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def signature_holds(public, message, signature):
    a, r = decompress(public), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= Q:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % Q
    left, right = multiply(s, BASE), add(r, multiply(h, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


# C2SP signed-note: the text that a key has signed under a name, or None.
def open_note(note, name, public):
    text, _, lines = note.rpartition("\n\n")
    text += "\n"
    key_id = sha256(name.encode() + b"\n\x01" + public)[:4]
    for line in lines.splitlines():
        dash, key_name, encoded = line.split(" ")
        data = base64.b64decode(encoded, validate=True)
        if dash == "\u2014" and key_name == name and data[:4] == key_id and signature_holds(public, text.encode(), data[4:]):
            return text
    return None


def decoded(hashes):
    return [base64.b64decode(text, validate=True) for text in hashes]


def faults(books):
    leaves = []
    for item in books["leaves"]:
        text = canonical(item["entry"])
        leaves.append(leaf_hash(text))
        if "text" in item and text != item["text"].encode():
            yield "leaf text of entry %s" % item["entry"]["entryNo"]
        if "hash" in item and leaves[-1] != base64.b64decode(item["hash"]):
            yield "leaf hash of entry %s" % item["entry"]["entryNo"]
    roots = {}
    for item in books["roots"]:
        size, root = item["treeSize"], base64.b64decode(item["rootHash"])
        roots[size] = root
        if mth(leaves[:size]) != root:
            yield "root of size %d" % size
    for item in books["inclusion"]:
        index, size, proof = item["leafIndex"], item["treeSize"], decoded(item["hashes"])
        if path(index, leaves[:size]) != proof or not inclusion_holds(leaves[index], index, size, proof, mth(leaves[:size])):
            yield "inclusion of leaf %d in size %d" % (index, size)
    for item in books["consistency"]:
        first, second, proof = item["fromSize"], item["toSize"], decoded(item["hashes"])
        a, b = mth(leaves[:first]), mth(leaves[:second])
        if subproof(first, leaves[:second], True) != proof or not consistency_holds(first, a, second, b, proof):
            yield "consistency of sizes %d and %d" % (first, second)
    for item in books["notes"]:
        public = base64.b64decode(item["publicKey"])
        text = open_note(item["note"], item["keyName"], public)
        if (text is not None) != item["genuine"]:
            yield "signature of the note %r" % item["note"]
        if text is not None and "treeSize" in item:
            origin, size, root, time = text.split("\n")[:4]
            expected = base64.b64encode(mth(leaves[:item["treeSize"]])).decode()
            if [origin, size, root] != [item["keyName"], str(item["treeSize"]), expected] or not time.startswith("time "):
                yield "text of the checkpoint of size %d" % item["treeSize"]


for fault in faults(json.load(sys.stdin)):
    print(fault)
