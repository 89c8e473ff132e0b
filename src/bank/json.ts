import { LosslessNumber, parse } from 'lossless-json';

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

const WORDS: readonly [word: string, value: unknown][] = [
  ['null', null],
  ['true', true],
  ['false', false],
];

/**
 * Reads JSON as `lossless-json` does, in a fraction of its time: numbers stay the text received, whatever their size.
 * What is seldom met (an exponent, a name given twice, a fault) is left to the library, so that its rules decide.
 * @throws SyntaxError where it is no JSON or a name stands for two values, RangeError where it is nested too deep
 */
export function parseJson(text: string): unknown {
  try {
    return new Reader(text).whole();
  } catch {
    return parse(text);
  }
}

/** Thrown where the text is left to the library. */
const UNUSUAL = new SyntaxError('unusual JSON');

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  whole(): unknown {
    const value = this.value();
    if (this.at < this.text.length) throw UNUSUAL;
    return value;
  }

  /** A value and the white space around it. */
  private value(): unknown {
    const value = this.valueOf(this.next());
    this.next();
    return value;
  }

  private valueOf(first: number): unknown {
    switch (first) {
      case QUOTE:
        return this.string();
      case OPENING_BRACE:
        return this.object();
      case OPENING_BRACKET:
        return this.array();
      default:
        return first === MINUS || isDigit(first) ? this.number() : this.word();
    }
  }

  private object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    let names = 0;
    this.at += 1;
    if (this.next() === CLOSING_BRACE) return this.passed(object);
    for (;;) {
      if (this.next() !== QUOTE) throw UNUSUAL;
      const name = this.string();
      if (this.next() !== COLON) throw UNUSUAL;
      this.at += 1;
      object[name] = this.value();
      names += 1;
      if (this.code() === CLOSING_BRACE) break;
      this.comma();
    }
    // Fewer where a name came twice, or `__proto__`, which is no ordinary one.
    if (Object.keys(object).length < names) throw UNUSUAL;
    return this.passed(object);
  }

  private array(): unknown[] {
    const array: unknown[] = [];
    this.at += 1;
    if (this.next() === CLOSING_BRACKET) return this.passed(array);
    for (;;) {
      array.push(this.value());
      if (this.code() === CLOSING_BRACKET) return this.passed(array);
      this.comma();
    }
  }

  private string(): string {
    const { text } = this;
    const start = this.at + 1;
    let end = start;
    for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(end)) {
      if (code === BACKSLASH) return this.escaped(start, end);
      // Beyond the end the code is no number.
      if (!(code >= SPACE)) throw UNUSUAL;
      end += 1;
    }
    this.at = end + 1;
    return text.slice(start, end);
  }

  /** A string holds no number, so the engine's own parser reads it. */
  private escaped(start: number, backslash: number): string {
    const { text } = this;
    let end = backslash;
    while (text.charCodeAt(end) !== QUOTE) {
      end += text.charCodeAt(end) === BACKSLASH ? 2 : 1;
      if (end >= text.length) throw UNUSUAL;
    }
    this.at = end + 1;
    return JSON.parse(text.slice(start - 1, end + 1)) as string;
  }

  private number(): LosslessNumber {
    const start = this.at;
    if (this.code() === MINUS) this.at += 1;
    if (this.code() === ZERO) this.at += 1;
    else this.digits();
    if (this.code() === POINT) {
      this.at += 1;
      this.digits();
    }
    return new LosslessNumber(this.text.slice(start, this.at));
  }

  private digits(): void {
    if (!isDigit(this.code())) throw UNUSUAL;
    do this.at += 1;
    while (isDigit(this.code()));
  }

  private word(): unknown {
    for (const [word, value] of WORDS) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    throw UNUSUAL;
  }

  private comma(): void {
    if (this.code() !== COMMA) throw UNUSUAL;
    this.at += 1;
    this.next();
  }

  /** Passes over the character that ends a list. */
  private passed<T>(list: T): T {
    this.at += 1;
    return list;
  }

  private code(): number {
    return this.text.charCodeAt(this.at);
  }

  /** Passes over white space. @returns the code of what stands behind it, NaN at the end */
  private next(): number {
    while (isWhitespace(this.code())) this.at += 1;
    return this.code();
  }
}

function isWhitespace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}
