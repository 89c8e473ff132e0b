import { DifferenceKind, TICKED_KINDS } from '../domain/difference';
import { maskIban } from '../domain/iban';
import { formatMinor } from '../domain/money';
import { showId } from '../http/prefixed-id';
import { ComparisonDocument, DifferenceDocument } from './comparison.dto';
import { ComparisonRecord, DifferenceRow, DifferingPayment } from './comparison.reads';

/** The comparison of the standing version; `required` says whether its new IBANs are to be ticked. */
export function showComparison(record: ComparisonRecord, required: boolean): ComparisonDocument {
  const { before, decision } = record;
  const of = (kind: DifferenceKind): ComparisonDocument['joined'] => {
    const total = record.differences.find((one) => one.kind === kind);
    return {
      payments: total?.count ?? 0,
      amount: formatMinor(BigInt(total?.amount_minor ?? 0)),
      before: formatMinor(BigInt(total?.before_minor ?? 0)),
    };
  };
  return {
    before: before && {
      period: before.before_period,
      payRunIds: before.before_run_ids.map((id) => showId('run', id)),
      payments: before.before_count,
      total: formatMinor(BigInt(before.before_minor)),
    },
    netChangeBasisPoints: before && before.net_change_basis_points,
    joined: of('JOINED'),
    left: of('LEFT'),
    netChanged: of('NET_CHANGED'),
    ibanChanged: of('IBAN_CHANGED'),
    nameChanged: of('NAME_CHANGED'),
    ibans: {
      required,
      toTick: record.toTick,
      ticked: record.ticked,
      decision: decision && {
        person: { id: showId('per', decision.ticked_by), name: decision.ticked_by_name },
        at: decision.ticked_at.toISOString(),
        reason: decision.reason,
      },
    },
  };
}

/**
 * A difference for those who may know it. `open` unseals a name or an IBAN. An IBAN that is to be ticked is shown whole,
 * as it is held against what the employee wrote; others are masked.
 */
export function showDifference(row: DifferenceRow, open: (sealed: string) => string): DifferenceDocument {
  const { now, before, ticked } = row;
  return {
    kind: row.kind,
    now: now && {
      ...showSide(now, row.amount_minor, open, TICKED_KINDS.includes(row.kind)),
      row: now.row_no,
    },
    before: before && {
      ...showSide(before, row.before_minor, open),
      payRunId: showId('run', before.pay_run_id),
    },
    ticked: ticked && {
      person: { id: showId('per', ticked.by), name: ticked.name },
      at: new Date(ticked.at).toISOString(),
    },
  };
}

function showSide(
  side: DifferingPayment,
  amountMinor: string,
  open: (sealed: string) => string,
  wholeIban = false,
) {
  const iban = open(side.iban_sealed);
  return {
    paymentId: showId('pay', side.id),
    employeeId: side.employee_id,
    name: open(side.name_sealed),
    iban: wholeIban ? iban : maskIban(iban),
    amount: formatMinor(BigInt(amountMinor)),
  };
}
