import { checkName } from './latin';

/** What a template may name in braces, filled in for each payment. */
export const PLACEHOLDERS = ['period', 'kind_of_pay', 'employer', 'employee_id'] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

/** What is said to the receiver of a payment where neither the row nor the employer says anything: `Salary 2026-11`. */
export const DEFAULT_TEMPLATE = '{kind_of_pay} {period}';

const PART = /\{([^{}]*)\}|[{}]/g;

/**
 * What keeps a text from being a template, in words: a placeholder that is not known, a brace without its other, a
 * letter that cannot be sent. Undefined for a template. Whether what it makes is too long only a payment can show.
 */
export function faultOfTemplate(text: string): string | undefined {
  for (const [part, name] of text.matchAll(PART)) {
    if (name === undefined) return `${part} stands alone.`;
    if (!isPlaceholder(name)) {
      return `${part} is not known; known are ${PLACEHOLDERS.map((one) => `{${one}}`).join(', ')}.`;
    }
  }
  const literal = checkName(text.replace(PART, ''));
  if (literal.ok) return undefined;
  const [first] = literal.faults;
  return first && `${first.codePoint} cannot be sent.`;
}

/** The text for one payment. What stands for a placeholder is not read for placeholders again. */
export function fillTemplate(template: string, values: Readonly<Record<Placeholder, string>>): string {
  return template.replace(PART, (part, name: string | undefined) =>
    name !== undefined && isPlaceholder(name) ? values[name] : part,
  );
}

/** A kind of pay as people read it: `YEAR_END_BONUS` is `Year end bonus`. */
export function wordsOfKind(kindOfPay: string): string {
  const words = kindOfPay.replaceAll('_', ' ');
  return `${words.slice(0, 1)}${words.slice(1).toLowerCase()}`;
}

function isPlaceholder(name: string): name is Placeholder {
  return (PLACEHOLDERS as readonly string[]).includes(name);
}
