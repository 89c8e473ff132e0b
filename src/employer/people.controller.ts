import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { append } from '../audit/audit';
import { Database } from '../database/database';
import { afterCommit } from '../database/outage';
import { Allow, EMPLOYER_ROLES } from '../http/allow';
import { IdParam, showId } from '../http/prefixed-id';
import { Problem } from '../http/problem';
import { Me, SignedIn } from '../http/signed-in';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import { People } from '../identity/people.service';

const role = z.enum(EMPLOYER_ROLES);

class RoleGrant extends createZodDto(z.strictObject({ role })) {}

const personBody = z.object({
  id: z.string(),
  name: z.string(),
  disabled: z.boolean(),
  roles: z.array(role),
});
type PersonItem = z.infer<typeof personBody>;
class PeopleBody extends createZodDto(z.object({ items: z.array(personBody) })) {}

/** Who holds which role at an employer. */
@ApiTags('employers')
@Controller('v1/employers/:employerId/people')
export class PeopleController {
  constructor(
    private readonly database: Database,
    private readonly people: People,
  ) {}

  @Get()
  @Allow('operator', 'administrator')
  @ApiOperation({ summary: 'Everybody who holds a role here' })
  @ApiOkResponse({ type: PeopleBody })
  async list(@Param('employerId', new IdParam('emp')) employerId: string): Promise<{ items: PersonItem[] }> {
    const people = await this.database.inEmployer(employerId, (tx) => this.people.peopleOfEmployer(tx));
    return { items: people.map((person) => ({ ...person, id: showId('per', person.id) })) };
  }

  @Post(':personId/roles')
  @CarriedOutOnce()
  @HttpCode(200)
  @Allow('administrator')
  @ApiOperation({ summary: 'Grants a role; granting it again changes nothing' })
  @ApiOkResponse({ type: PeopleBody })
  async grant(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('personId', new IdParam('per')) personId: string,
    @Me() me: SignedIn,
    @Body() { role }: RoleGrant,
  ): Promise<{ items: PersonItem[] }> {
    await this.database.inEmployer(employerId, async (tx) => {
      if (!(await this.people.grantRole(tx, personId, role))) return;
      const subject = showId('per', personId);
      await append(tx, { personId: me.personId, action: 'role.granted', subject, detail: { role } });
    });
    return afterCommit(() => this.list(employerId));
  }

  @Delete(':personId/roles/:role')
  @HttpCode(204)
  @Allow('administrator')
  @ApiOperation({ summary: 'Takes a role back; it counts from the next request on' })
  @ApiNoContentResponse()
  async revoke(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('personId', new IdParam('per')) personId: string,
    @Param('role') text: string,
    @Me() me: SignedIn,
  ): Promise<void> {
    const parsed = role.safeParse(text);
    if (!parsed.success) throw new Problem(404, 'ROLE_NOT_FOUND', 'There is no such role.');
    await this.database.inEmployer(employerId, async (tx) => {
      if (!(await this.people.revokeRole(tx, personId, parsed.data))) return;
      const subject = showId('per', personId);
      const detail = { role: parsed.data };
      await append(tx, { personId: me.personId, action: 'role.revoked', subject, detail });
    });
  }
}
