/** Four characters are what people compare an IBAN by; the rest is nobody's business in a log. */
const IBAN = /\b([A-Z]{2})\d{2}(?: ?[A-Z0-9]){7,26}((?: ?[A-Z0-9]){4})\b/g;
/** Four digits stay readable (statuses, years); longer runs may be account numbers or amounts. */
const DIGITS = /\d[\d.,]{3,}\d/g;
/** Values of these fields are names, addresses and amounts of people; a status' value is not. */
const PERSONAL =
  /("(?:name|amount|balance|iban|accountId|addressLines|streetName|buildingNumber|townName|postCode|description)"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|-?\d[\d.eE+-]*)/g;
const VALUE = /(?<!tatus"\s{0,4}:\s{0,4}\{\s{0,4})("value"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|-?\d[\d.eE+-]*)/g;
const QUOTED = /(["'`«»“”‘’])[^"'`«»“”‘’]{1,200}(["'`«»“”‘’])/g;

/** Longer bodies add nothing to a diagnosis and cost space in every intent row. */
const KEPT_CHARACTERS = 2_000;

/** Text without account numbers: an IBAN as country and last four, long digit runs as dots. */
export function maskText(text: string): string {
  return beginningOf(text)
    .replace(IBAN, (_match, country: string, last: string) => `${country}…${last.replaceAll(' ', '')}`)
    .replace(DIGITS, '…');
}

/** A sentence of the bank's: what it quotes may be what a person is called, so quotes lose their content. */
export function maskMessage(message: string): string {
  return maskText(message.replace(QUOTED, '$1…$2'));
}

/** A whole body: as {@link maskText}, and the values of personal fields are replaced. */
export function maskBody(body: string): string {
  return maskText(beginningOf(body).replace(PERSONAL, '$1"…"').replace(VALUE, '$1"…"'));
}

/** Without U+0000, which the database cannot hold: what is in UTF-16 can then be read, and masked, all the same. */
function beginningOf(text: string): string {
  return text.replaceAll('\0', '').slice(0, KEPT_CHARACTERS);
}
