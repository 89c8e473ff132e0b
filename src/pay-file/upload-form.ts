import { IncomingHttpHeaders } from 'node:http';
import { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import busboy, { Busboy } from 'busboy';
import { Problem } from '../http/problem';
import { Spool, Upload, UploadedFile } from './spool';

/** One file and the handful of fields an upload has; the names and values of those are short. */
const LIMITS = {
  files: 1,
  fields: 15,
  parts: 16,
  fieldNameSize: 50,
  fieldSize: 1_000,
  headerPairs: 20,
} as const;

/**
 * Reads a form with exactly one file.
 * @param feedTo sends the bytes of the request to a stream; what it returns ends that.
 * @throws Problem 400 when the form is malformed, has no file or more than it may have of anything.
 */
export async function readForm(
  headers: IncomingHttpHeaders,
  spool: Spool,
  feedTo: (sink: Writable) => () => void,
): Promise<Upload> {
  const form = openForm(headers);
  const fields = new Map<string, string>();
  let fileName: string | undefined;
  let saved: Promise<UploadedFile> | undefined;
  form.on('field', (name, value, info) => {
    if (info.nameTruncated || info.valueTruncated) form.destroy(malformed('A field is too long.'));
    else if (fields.has(name)) form.destroy(malformed('A field is there twice.'));
    else fields.set(name, value);
  });
  form.on('file', (_name, content, info) => {
    fileName = info.filename;
    saved = spool.fill(content);
    saved.catch((error: Error) => form.destroy(error));
  });
  for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const) {
    form.on(limit, () => form.destroy(malformed('It has more than one file or too many fields.')));
  }
  const stop = feedTo(form);
  try {
    await finished(form);
    if (saved === undefined) throw malformed('It has no file.');
    return { file: await saved, fileName, fields };
  } catch (error) {
    if (error instanceof Problem || isOfTheSystem(error)) throw error;
    throw malformed('It ends too early or a part has no valid head.');
  } finally {
    stop();
  }
}

/** A full disk has a code; what the parser finds wrong with the form has none. */
function isOfTheSystem(error: unknown): boolean {
  return error instanceof Error && 'code' in error;
}

function openForm(headers: IncomingHttpHeaders): Busboy {
  try {
    return busboy({ headers, limits: LIMITS, defParamCharset: 'utf8' });
  } catch {
    throw malformed('Its boundary is missing.');
  }
}

function malformed(what: string): Problem {
  return new Problem(400, 'FORM_MALFORMED', `The form cannot be read. ${what}`);
}
