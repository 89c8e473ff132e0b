import { randomUUID } from 'node:crypto';
import { FileHandle, open, unlink } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { Problem } from '../http/problem';
import { Spool, Upload } from './spool';
import { readForm } from './upload-form';

/** Bounds of one upload. `maxBytes` is that of the file itself. */
export interface UploadLimits {
  maxBytes: number;
  /** Longest silence of the client. */
  idleMs: number;
  /** Longest time in all. */
  totalMs: number;
}

/** Node closes a request after five minutes without an answer; ours comes before. */
export const UPLOAD_TIMES = { idleMs: 30_000, totalMs: 280_000 } as const;

/**
 * Receives a pay file, `text/csv` or the one file of a `multipart/form-data`, and passes it to `work`. It lies in a
 * file without a name meanwhile, which the system removes with its last descriptor: also when this process is killed.
 * @throws Problem 400, 408, 413 or 415 when it does not arrive as it should.
 */
export async function withUpload<T>(
  request: IncomingMessage,
  limits: UploadLimits,
  work: (upload: Upload) => Promise<T>,
): Promise<T> {
  const receive = receiverOf(request);
  const handle = await openNameless();
  try {
    const upload = await receive(new Spool(handle, limits.maxBytes), (sink) => feed(request, sink, limits));
    return await work(upload);
  } finally {
    await handle.close();
  }
}

type Feed = (sink: Writable) => () => void;
type Receiver = (spool: Spool, feedTo: Feed) => Promise<Upload>;

function receiverOf(request: IncomingMessage): Receiver {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new Problem(415, 'ENCODING_UNSUPPORTED', 'Send the file as it is, not compressed.');
  }
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type === 'text/csv') return receiveRaw;
  if (type === 'multipart/form-data') return (spool, feedTo) => readForm(request.headers, spool, feedTo);
  throw new Problem(415, 'PAY_FILE_TYPE', 'Send the file as text/csv or as multipart/form-data.');
}

async function receiveRaw(spool: Spool, feedTo: Feed): Promise<Upload> {
  const sink = new PassThrough();
  const stop = feedTo(sink);
  try {
    return { file: await spool.fill(sink), fileName: undefined, fields: new Map() };
  } finally {
    stop();
  }
}

/**
 * Sends the request's bytes to `sink`, which is destroyed with a Problem when they stop coming. The request itself
 * is never destroyed: its socket has to carry the answer. The result ends the sending; what is left is discarded.
 */
function feed(request: IncomingMessage, sink: Writable, limits: UploadLimits): () => void {
  const tooSlow = () =>
    void sink.destroy(new Problem(408, 'UPLOAD_TOO_SLOW', 'The file did not arrive in time.'));
  const idle = setTimeout(tooSlow, limits.idleMs);
  const total = setTimeout(tooSlow, limits.totalMs);
  const onData = () => void idle.refresh();
  const onClose = () => {
    if (!request.complete) sink.destroy(new Problem(400, 'UPLOAD_BROKEN_OFF', 'The upload was broken off.'));
  };
  if (request.destroyed) onClose();
  request.on('data', onData).once('close', onClose).once('error', onClose).pipe(sink);
  return () => {
    clearTimeout(idle);
    clearTimeout(total);
    request.off('data', onData).off('close', onClose).unpipe(sink);
    request.resume();
  };
}

async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `payrun-upload-${randomUUID()}`);
  const handle = await open(path, 'wx+', 0o600);
  await unlink(path);
  return handle;
}
