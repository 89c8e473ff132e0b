import { Injectable } from '@nestjs/common';
import {
  BankClientError,
  BankError,
  BankUnreachable,
  type FailsInARow,
  isAnswerUnusable,
  isBankError,
  isHidden,
  isNotShown,
  isRefusedRead,
  isServersFault,
  NotAllowed,
  NotFound,
  Unauthorised,
} from '../bank/errors';
import { BankGateway } from '../bank/gateway';
import type { PaymentIds } from '../bank/payment-ids';
import type { BankPayment } from '../bank/records';
import { FaultsInARow } from './faults-in-a-row';
import { type InstructionAtBank, knownTo, mayBeOf, notAmong, type PaymentsRead } from './instruction-at-bank';

/** Payments read one by one: a minute or so at a bank that answers ten in a second. */
export const MOST_ALONE = 1_000;

/** So many in vain, one by one: none is shown so, or the bank does not answer. */
const MOST_IN_VAIN = 5;

/** One pass over the payments of an instruction, each by itself. */
interface Pass {
  bankInstructionId: string;
  /** How many failed alike with none shown between them, by the name that such a row is counted by. */
  alike: Map<string, number>;
  /** How the rows that were as long as to be counted were met so far, by their names. */
  rows: Map<string, FailsInARow>;
  /** How many were shown in no way one after the other, but for those not found. */
  unshown: number;
}

/** How payments are asked for each by itself. */
interface Manner {
  /** Whether a list shows others: of what is only followed a failure of these reads is told then, and not thrown. */
  isShown?: boolean;
  /** Whether the bank is known to show payments so: one that is not found says nothing of others then. */
  isShownAlone?: boolean;
  isOurs?: (read: BankPayment) => boolean;
}

/** Reads of payments each by itself: what no list shows, or shows without what names it. */
@Injectable()
export class PaymentsAlone {
  /** After which payment of an instruction the next read of each by itself begins: the one tried last, where not all were. */
  private readonly triedLast = new Map<string, string>();

  /** With which payment of an instruction a decision began that waits for some: the next tries these, whatever was tried since. */
  private readonly waitedFrom = new Map<string, string>();

  /** By which names rows of payments of an instruction that failed alike are counted. */
  private readonly rows = new Map<string, Set<string>>();

  /** Which payment of an instruction was answered so that it cannot be used, until it is read again. */
  private readonly garbled = new Map<string, { id: string; failure: BankClientError }>();

  constructor(
    private readonly gateway: BankGateway,
    private readonly faults: FaultsInARow,
  ) {}

  /**
   * Payments that no list shows, each by itself, up to the first that is not shown so either. Of what a decision rests on, and
   * is sought, a few are tried before that is taken for how the bank answers all; one that is not found says nothing of
   * others once one was, or such reads are known to be allowed: then only faults in a row end it. Of what is only followed it
   * says nothing of others either, and some are tried: whether such reads are allowed is not known of an account that was
   * onboarded before there was a payment. Where they are more than `MOST_ALONE` no more are read at once, but what a decision
   * rests on, up to as many in a row that are refused or fail: those behind them are untold; and the next of what is only
   * followed the next time; none where one tells as much as all.
   * @param manner where a list shows others, as once one is read, a failure tells `onCutShort` of what is only followed
   * @throws BankClientError as such reads, a server's fault of what is sought while it may pass
   */
  async read(instruction: InstructionAtBank, manner: Manner = {}): Promise<PaymentsRead> {
    const { bankIds, byAnyList = false, evenUnlisted = false, isOnlyFollowed = false } = instruction;
    const isEachTelling = byAnyList || isOnlyFollowed;
    if (!evenUnlisted || (bankIds.length > MOST_ALONE && !isEachTelling)) return { found: [] };
    const most = instruction.isSought && !instruction.fewTell ? bankIds.length : MOST_ALONE;
    const read = isOnlyFollowed
      ? { found: await this.followedAlone(instruction, manner) }
      : await this.untilUnshown({ ...instruction, bankIds: bankIds.slice(0, most) }, manner);
    if (read.found.length > 0) instruction.onShown?.('itself');
    return read;
  }

  /** @returns also what the last that is not shown failed with */
  private async untilUnshown(
    instruction: InstructionAtBank,
    { isShownAlone = false, isOurs = mayBeOf(instruction) }: Manner,
  ): Promise<PaymentsRead & { refused?: BankClientError }> {
    const { bankInstructionId, isSought, fewTell = false } = instruction;
    const [most, isEach] = [isSought ? MOST_IN_VAIN : 1, isSought !== undefined && !fewTell];
    const pass: Pass = { bankInstructionId, alike: new Map(), rows: new Map(), unshown: 0 };
    const inTurn = this.inTurn(instruction, isSought && this.waitedFrom.get(bankInstructionId));
    const found: BankPayment[] = [];
    let inVain = 0;
    let isCutShort = false;
    let [passing, untold, refused]: (BankClientError | undefined)[] = [];
    for (const ids of inTurn) {
      const payment = await this.answerOf(ids, isSought !== undefined, isShownAlone);
      const mayPass = isSought !== undefined && this.mayPass(ids, payment, pass);
      if (!isBankError(payment) && isOurs(payment)) {
        found.push(payment);
        instruction.onSeen?.(payment);
        inVain = 0;
        continue;
      }
      const isFailing = isBankError(payment) && !isHidden(payment);
      if (mayPass) passing ??= payment;
      else if (isSought && isFailing) untold ??= payment;
      if (payment instanceof NotAllowed) refused = payment;
      const tellsOfNone = isFailing
        ? (!mayPass || this.isOfLastingRow(pass, payment)) && !(payment instanceof BankUnreachable)
        : isShownAlone || found.length > 0;
      if (!(isEach && tellsOfNone) && (inVain += 1) === most) break;
      isCutShort = pass.unshown === MOST_ALONE && ids !== inTurn.at(-1);
      if (!isCutShort) continue;
      // Those that are left are not asked for: nobody knows that there are none.
      if (isBankError(payment)) untold ??= payment;
      break;
    }
    this.endRows(pass);
    const [first] = inTurn;
    if ((passing || isCutShort) && first) this.waitedFrom.set(bankInstructionId, first[0]);
    else if (isSought) this.waitedFrom.delete(bankInstructionId);
    if (passing) throw passing;
    return { found, untold, refused };
  }

  /** A payment, or what it is refused with, and of what is sought what it fails with. @throws BankClientError */
  private async answerOf(
    ids: PaymentIds,
    isSought: boolean,
    isShownAlone: boolean,
  ): Promise<BankPayment | BankClientError> {
    try {
      if (!isSought) return await this.one(ids);
      return await this.faults.counting(nameOf(ids), () => this.gateway.getPayment(ids));
    } catch (failure) {
      const error = isShownAlone ? failure : refusalOf(failure);
      if (isRefusedRead(error) || (isSought && isServersFault(error))) return error;
      throw error;
    }
  }

  /**
   * Whether a read of a payment met a fault that has not lasted yet: of it, or, where it was met before, past a few in a row
   * that fail alike, of as many in a row each time, since at a bank that is down no more are tried.
   */
  private mayPass(ids: PaymentIds, read: unknown, pass: Pass): read is BankClientError {
    if (!isBankError(read)) {
      pass.alike.clear();
      pass.unshown = 0;
    } else if (!(read instanceof NotFound)) pass.unshown += 1;
    if (!isBankError(read) || isHidden(read)) return false;
    const name = rowOf(pass, read);
    const alike = (pass.alike.get(name) ?? 0) + 1;
    pass.alike.set(name, alike);
    if (alike === MOST_IN_VAIN) this.addRow(pass, name);
    const isOfRow = this.isOfLastingRow(pass, read) && this.faults.isRepeated(nameOf(ids));
    if (isOfRow || read.isForGood) return false;
    const row = alike < MOST_IN_VAIN ? undefined : pass.rows.get(name);
    if (row && read.inARow) read.inARow = this.faults.withRow(read.inARow, row);
    return true;
  }

  private addRow({ bankInstructionId, rows }: Pass, name: string): void {
    rows.set(name, this.faults.add(name));
    this.rows.set(bankInstructionId, (this.rows.get(bankInstructionId) ?? new Set()).add(name));
  }

  /** Rows that were not met in a pass begin anew. */
  private endRows({ bankInstructionId, rows }: Pass): void {
    for (const name of this.rows.get(bankInstructionId) ?? []) if (!rows.has(name)) this.faults.end(name);
    if (rows.size > 0) this.rows.set(bankInstructionId, new Set(rows.keys()));
    else this.rows.delete(bankInstructionId);
  }

  private isOfLastingRow(pass: Pass, failure: BankClientError): boolean {
    const name = rowOf(pass, failure);
    return (pass.alike.get(name) ?? 0) >= MOST_IN_VAIN && this.faults.isLasting(name);
  }

  /** A payment, which ends what was counted of it: what is only followed counts none. @throws BankClientError */
  private async one(ids: PaymentIds): Promise<BankPayment> {
    const payment = await this.gateway.getPayment(ids);
    this.faults.end(nameOf(ids));
    return payment;
  }

  /** @param isOnlyWay whether no list was found to be allowed: then one is told where none is read */
  private async followedAlone(
    instruction: InstructionAtBank,
    { isShown = false, isShownAlone = false }: Manner,
    isOnlyWay = false,
  ): Promise<BankPayment[]> {
    const found: BankPayment[] = [];
    const failure = await this.addFollowed(instruction, found, isShownAlone, isOnlyWay).catch(
      (error: unknown) => {
        if (isBankError(error) && (isShown || found.length > 0)) return error;
        throw error;
      },
    );
    const garbled = this.garbled.get(instruction.bankInstructionId);
    if (garbled && knownTo(instruction.bankIds)(garbled.id)) instruction.onUnread?.(garbled.failure, 'one');
    if (failure && isOnlyWay && found.length === 0) throw failure;
    if (failure) instruction.onCutShort?.(failure);
    return found;
  }

  /**
   * A payment that is refused is answered at once; what is not answered is waited for, and so only a few times.
   * @returns what kept others from being tried, where some were read
   */
  private async addFollowed(
    instruction: InstructionAtBank,
    found: BankPayment[],
    isShownAlone: boolean,
    isOnlyWay: boolean,
  ): Promise<BankClientError | undefined> {
    const { bankInstructionId } = instruction;
    const isOurs = mayBeOf(instruction);
    let failure: BankClientError | undefined;
    let [unshown, faults, unanswered] = [0, 0, 0];
    const all = this.inTurn(instruction);
    const inTurn = isOnlyWay ? all : all.slice(0, MOST_ALONE);
    for (const ids of inTurn) {
      const read = await this.one(ids).catch((failure: unknown) => {
        const error = isShownAlone ? failure : refusalOf(failure);
        if (isServersFault(error) || isRefusedRead(error)) return error;
        throw error;
      });
      this.triedLast.set(bankInstructionId, ids[0]);
      if (isAnswerUnusable(read)) this.garbled.set(bankInstructionId, { id: ids[0], failure: read });
      else if (this.garbled.get(bankInstructionId)?.id === ids[0]) this.garbled.delete(bankInstructionId);
      faults = isServersFault(read) ? faults + 1 : 0;
      if (read instanceof BankUnreachable) unanswered += 1;
      if (!isBankError(read) && (isOnlyWay || isOurs(read))) {
        found.push(read);
        continue;
      }
      if (isOnlyWay && read instanceof NotFound) continue;
      if (isBankError(read)) failure = read;
      unshown += 1;
      const inVain = found.length === 0 ? unshown : Math.max(faults, unanswered);
      if (inVain === MOST_IN_VAIN && ids !== inTurn.at(-1))
        return isOnlyWay || found.length > 0 ? failure : undefined;
    }
    if (inTurn.length === all.length) this.beginNextWith(found[0], instruction);
    else instruction.onUntried?.(all.slice(inTurn.length).map(([id]) => id));
    return isOnlyWay && found.length === 0 ? failure : undefined;
  }

  /** Those before the first that is shown may be shown no more, so that a read which begins with them is given up. */
  private beginNextWith(
    first: BankPayment | undefined,
    { bankInstructionId, bankIds }: InstructionAtBank,
  ): void {
    const known = bankIds.flatMap(([id]) => id ?? []);
    const before = first && known[known.indexOf(first.bankPaymentId) - 1];
    if (before === undefined) this.triedLast.delete(bankInstructionId);
    else this.triedLast.set(bankInstructionId, before);
  }

  /** Its known payments, from the first if that is said and one of them, or else from where the last read of them was given up. */
  private inTurn({ bankInstructionId, bankIds }: InstructionAtBank, first?: string): PaymentIds[] {
    const known = bankIds.filter((ids): ids is PaymentIds => ids.length > 0);
    const last = this.triedLast.get(bankInstructionId);
    const begun = known.findIndex(([id]) => id === first);
    const from = begun < 0 ? known.findIndex(([id]) => id === last) + 1 : begun;
    return [...known.slice(from), ...known.slice(0, from)];
  }

  /** What a list shows, and as `read` each by itself what it lacks. @throws BankClientError */
  async completed(
    instruction: InstructionAtBank,
    listed: readonly BankPayment[],
    isShownAlone = false,
  ): Promise<PaymentsRead> {
    const bankIds = notAmong(listed, instruction.bankIds);
    const { found, untold } = await this.read({ ...instruction, bankIds }, { isShown: true, isShownAlone });
    return { found: [...listed, ...found], untold };
  }

  /**
   * Payments as they were listed, those without a message id with the one that a read of them alone shows, where the bank
   * allows that; more than `MOST_ALONE` are left as they are. @throws BankClientError
   */
  async withMessageIds(listed: readonly BankPayment[]): Promise<BankPayment[]> {
    const lacking = listed.filter(({ messageId }) => messageId === undefined).length;
    if (lacking > MOST_ALONE) return [...listed];
    const payments: BankPayment[] = [];
    for (const payment of listed)
      payments.push(payment.messageId === undefined ? await this.alone(payment) : payment);
    return payments;
  }

  /** Whether it may be read alone is not known of an account that was onboarded before there was a payment. */
  private async alone(listed: BankPayment): Promise<BankPayment> {
    try {
      return await this.one(listed.ids);
    } catch (error) {
      if (isNotShown(refusalOf(error))) return listed;
      throw error;
    }
  }

  /**
   * Payments where no list was found to be allowed, each by itself; what there is none of is left out, and of what a decision
   * rests on what is refused, where others are shown. @throws BankClientError
   */
  async oneByOne(instruction: InstructionAtBank): Promise<PaymentsRead> {
    instruction.onShown?.('itself');
    if (instruction.isOnlyFollowed)
      return { found: await this.followedAlone(instruction, { isShownAlone: true }, true) };
    if (instruction.isSought) return this.soughtOneByOne(instruction);
    const found: BankPayment[] = [];
    for (const ids of instruction.bankIds) {
      if (ids.length === 0) continue;
      try {
        found.push(await this.one(ids));
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
      }
    }
    return { found };
  }

  private async soughtOneByOne(instruction: InstructionAtBank): Promise<PaymentsRead> {
    const manner = { isShownAlone: true, isOurs: () => true };
    const { found, untold, refused } = await this.untilUnshown({ ...instruction, fewTell: false }, manner);
    if (refused && (untold ?? refused) === refused && found.length === 0) throw refused;
    return { found, untold };
  }
}

/** By which what payments of an instruction fail alike with is counted: a server that is down may say so in several ways. */
function rowOf({ bankInstructionId }: Pass, failure: BankClientError): string {
  const refusal = failure instanceof BankError ? failure.status : failure.name;
  const how = isServersFault(failure) ? 'a fault of the server' : refusal;
  return `payments of ${bankInstructionId} by themselves: ${how}`;
}

/** Where the bank is not known to show payments so, a 401 is one of this read: lists are read by the same token. */
function refusalOf(failure: unknown): unknown {
  return failure instanceof Unauthorised ? new NotAllowed(failure.status, failure) : failure;
}

/** By which what a payment is answered with is counted. */
function nameOf([bankPaymentId]: PaymentIds): string {
  return `payment ${bankPaymentId}`;
}
