import { headOfTable, type Line, textOf } from './table';

/** Prints the table line by line as it becomes known, and remembers what broke. */
export class Report {
  private begun = false;
  private readonly broken: string[] = [];

  constructor(private readonly write: (text: string) => void) {}

  line(line: Line): void {
    if (!this.begun) this.write(`${headOfTable()}\n`);
    this.begun = true;
    this.write(`${textOf(line)}\n`);
  }

  say(text: string): void {
    this.write(`${text}\n`);
  }

  /** Something broke the rule; `again` is the command that shows it again. */
  breakage(what: string, again: string): void {
    const text = `BROKEN  ${what}\n        again: ${again}`;
    this.broken.push(text);
    this.write(`${text}\n`);
  }

  get ok(): boolean {
    return this.broken.length === 0;
  }

  get breakages(): readonly string[] {
    return this.broken;
  }
}
