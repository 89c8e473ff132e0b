import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Database, EmployerTransaction } from '../database/database';
import { afterCommit } from '../database/outage';
import { formatMinor } from '../domain/money';
import { Allow } from '../http/allow';
import { decodeCursor, limitParam, pageOf } from '../http/cursor';
import { idField, IdParam, notFound, showId } from '../http/prefixed-id';
import { reason, words } from '../http/reason';
import { Me, type SignedIn } from '../http/signed-in';
import { seesPayments } from '../http/withheld-sums';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import { Attention, AttentionActionRow } from '../pay-run/attention.entity';
import { actionsFor, MEANINGS } from '../pay-run/attention-actions';
import { AttentionDesk } from './attention-desk';
import { CONFIRMING } from './proposed-action';
import {
  ActionBody,
  ActionDocument,
  ATTENTION_ACTIONS,
  AttentionBody,
  AttentionDocument,
  AttentionPage,
} from './attention.dto';

class AttentionQuery extends createZodDto(
  z.strictObject({
    state: z.enum(['open', 'resolved', 'all']).default('open'),
    limit: limitParam,
    cursor: z.string().max(512).optional(),
  }),
) {}

class ProposedBody extends createZodDto(
  z
    .strictObject({
      action: z.enum(ATTENTION_ACTIONS).describe('EXCLUDE_PAYMENT is for a preparer to propose.'),
      reason,
      evidence: words(200).optional(),
      paymentIds: z
        .array(idField('pay'))
        .min(1)
        .max(10_000)
        .optional()
        .describe('Of which payments PAID or NOT_PAID is said; of all that wait for it where none is named.'),
    })
    .refine(
      ({ action, paymentIds }) => paymentIds === undefined || MEANINGS.includes(action),
      'names payments for PAID and NOT_PAID only',
    ),
) {}

class ConfirmationBody extends createZodDto(
  z.strictObject({
    actionId: idField('act').describe(
      'The action that was read: 409 ACTION_CHANGED where another one is proposed by now.',
    ),
  }),
) {}

/** Ids grow with time, so their order is that of opening. */
const position = z.object({ id: z.uuid() });

/** What people must decide, and how they decide it two by two. */
@ApiTags('attention')
@Controller('v1/employers/:employerId/attention')
export class AttentionController {
  constructor(
    private readonly database: Database,
    private readonly desk: AttentionDesk,
  ) {}

  @Get()
  @Allow('any')
  @ApiOperation({ summary: 'What needs a person, oldest first' })
  @ApiOkResponse({ type: AttentionPage })
  async list(
    @Me() me: SignedIn,
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Query() query: AttentionQuery,
  ): Promise<AttentionPage> {
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, position);
    return this.database.inEmployer(employerId, async (tx) => {
      const find = tx.manager
        .createQueryBuilder(Attention, 'a')
        .where('a.employerId = :employerId', { employerId });
      if (query.state === 'open') find.andWhere('a.resolvedAt IS NULL');
      if (query.state === 'resolved') find.andWhere('a.resolvedAt IS NOT NULL');
      if (after) find.andWhere('a.id > :id', after);
      const rows = await find
        .orderBy('a.id')
        .limit(query.limit + 1)
        .getMany();
      const page = pageOf(rows, query.limit, (last) => ({ id: last.id }));
      const restoredAt = await lastRestoredAt(tx);
      return { ...page, items: page.items.map((one) => viewOf(one, me, restoredAt)) };
    });
  }

  @Get(':attentionId')
  @Allow('any')
  @ApiOperation({ summary: 'What happened, what is certain, what to ask the bank, and what was decided' })
  @ApiOkResponse({ type: AttentionBody })
  async show(
    @Me() me: SignedIn,
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('attentionId', new IdParam('att')) id: string,
  ): Promise<AttentionBody> {
    return this.database.inEmployer(employerId, async (tx) => {
      const attention = await tx.manager.findOneBy(Attention, { employerId, id });
      if (!attention) throw notFound('att');
      const restoredAt = await lastRestoredAt(tx);
      return { ...viewOf(attention, me, restoredAt), decisions: await decisionsOf(tx, id) };
    });
  }

  @Post(':attentionId/actions')
  @CarriedOutOnce()
  @Allow('preparer', 'approver', 'operator', 'finance')
  @ApiOperation({ summary: 'Propose an action; another person confirms it' })
  @ApiCreatedResponse({ type: ActionBody })
  async propose(
    @Me() me: SignedIn,
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('attentionId', new IdParam('att')) id: string,
    @Body() body: ProposedBody,
  ): Promise<ActionDocument> {
    return actionView(await this.desk.propose(employerId, id, me.personId, body));
  }

  @Post(':attentionId/actions/confirmation')
  @Allow(...CONFIRMING)
  @HttpCode(200)
  @ApiOperation({ summary: 'Confirm the proposed action, which is then carried out' })
  @ApiOkResponse({ type: AttentionBody })
  async confirm(
    @Me() me: SignedIn,
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('attentionId', new IdParam('att')) id: string,
    @Body() { actionId }: ConfirmationBody,
  ): Promise<AttentionBody> {
    await this.desk.confirm(employerId, id, me.personId, actionId);
    return afterCommit(() => this.show(me, employerId, id));
  }

  @Delete(':attentionId/actions')
  @Allow('preparer', 'approver', 'operator', 'finance')
  @HttpCode(204)
  @ApiOperation({ summary: 'Withdraw the proposed action' })
  withdraw(
    @Me() me: SignedIn,
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('attentionId', new IdParam('att')) id: string,
  ): Promise<void> {
    return this.desk.withdraw(employerId, id, me.personId);
  }
}

const BEFORE_RESTORE =
  'But this was asked before the database was restored: what people and the bank did since the backup is not counted in it.';

async function lastRestoredAt(tx: EmployerTransaction): Promise<Date | null> {
  const [last] = await tx.query<{ at: Date | null }>('SELECT max(noticed_at) AS at FROM database_restore');
  return last?.at ?? null;
}

/**
 * The bank's words and every sum are for those only who may see payments: beside the run's total, the sum of all its
 * payments but a few tells what those few earn.
 */
function viewOf(attention: Attention, me: SignedIn, restoredAt: Date | null): AttentionDocument {
  const mayThis = seesPayments(me);
  const isRestored = restoredAt !== null && attention.openedAt < restoredAt;
  return {
    id: showId('att', attention.id),
    kind: attention.kind,
    payRunId: attention.payRunId && showId('run', attention.payRunId),
    instructionId: attention.instructionId && showId('ins', attention.instructionId),
    paymentId: attention.paymentId && showId('pay', attention.paymentId),
    happened: attention.happened,
    bankWords: mayThis ? attention.bankWords : null,
    certain: isRestored ? `${attention.certain} ${BEFORE_RESTORE}` : attention.certain,
    askBank: attention.askBank,
    actions: [...actionsFor(attention)],
    payments: attention.payments,
    amount: mayThis ? formatMinor(attention.amountMinor) : null,
    lacking: mayThis && attention.lackingMinor !== null ? formatMinor(attention.lackingMinor) : null,
    beyond: mayThis ? beyondOf(attention) : null,
    openedAt: attention.openedAt.toISOString(),
    resolvedAt: attention.resolvedAt?.toISOString() ?? null,
    resolution: attention.resolution,
  };
}

function beyondOf({ beyondPayments, beyondMinor }: Attention): AttentionDocument['beyond'] {
  if (beyondPayments === null || beyondMinor === null) return null;
  return { payments: beyondPayments, amount: formatMinor(beyondMinor) };
}

async function decisionsOf(tx: EmployerTransaction, attentionId: string): Promise<ActionDocument[]> {
  const rows = await tx.manager.find(AttentionActionRow, {
    where: { employerId: tx.employerId, attentionId },
    order: { proposedAt: 'ASC' },
  });
  return rows.map(actionView);
}

function actionView(row: AttentionActionRow): ActionDocument {
  return {
    id: showId('act', row.id),
    action: row.action,
    reason: row.reason,
    evidence: row.evidence,
    payments: row.paymentIds?.length ?? null,
    paymentIds: row.paymentIds?.map((id) => showId('pay', id)) ?? null,
    proposedBy: showId('per', row.proposedBy),
    proposedAt: row.proposedAt.toISOString(),
    confirmedBy: row.confirmedBy && showId('per', row.confirmedBy),
    confirmedAt: row.confirmedAt?.toISOString() ?? null,
    withdrawnAt: row.withdrawnAt?.toISOString() ?? null,
  };
}
