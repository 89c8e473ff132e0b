// RFC 4648 base32 in lower case: 16 bytes are 26 characters, so that with a row number all stays within 35.
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const SHAPE = /^([a-z2-7]{26})-([0-9a-z]{1,6})$/;

/**
 * The `messageId` of one row of one attempt (at most 33 of the 35 characters allowed): opaque to the bank, and
 * without a look-up the instruction and the row for us. A rebuilt instruction has another id, and so has each row.
 */
export function messageIdOf(instructionId: string, rowNo: number): string {
  if (lastWritten.instructionId !== instructionId) {
    const bytes = Buffer.from(instructionId.replaceAll('-', ''), 'hex');
    lastWritten = { instructionId, written: base32(bytes) };
  }
  return `${lastWritten.written}-${rowNo.toString(36)}`;
}

/** The rows of an instruction are named one after the other. */
let lastWritten = { instructionId: '', written: '' };

/** The instruction and row a message id names; undefined for one that is not ours. */
export function readMessageId(messageId: string): { instructionId: string; rowNo: number } | undefined {
  const match = SHAPE.exec(messageId);
  if (!match) return undefined;
  const [, id = '', row = ''] = match;
  const hex = hexOfBase32(id);
  return {
    instructionId: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
    rowNo: Number.parseInt(row, 36),
  };
}

/** Tells which message ids name rows of an instruction. */
export function namesOf(instructionId: string): (messageId: string) => boolean {
  return (messageId) => readMessageId(messageId)?.instructionId === instructionId;
}

function base32(bytes: Buffer): string {
  // 130 bits in 26 groups of five: the two bits missing at the end are zero.
  let bits = BigInt(`0x${bytes.toString('hex')}`) << 2n;
  let text = '';
  for (let n = 0; n < 26; n += 1) {
    text = ALPHABET.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return text;
}

function hexOfBase32(text: string): string {
  let bits = 0n;
  for (const letter of text) bits = (bits << 5n) | BigInt(ALPHABET.indexOf(letter));
  return (bits >> 2n).toString(16).padStart(32, '0');
}
