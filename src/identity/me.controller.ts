import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { Allow, EMPLOYER_ROLES } from '../http/allow';
import { showId } from '../http/prefixed-id';
import { Me, SignedIn } from '../http/signed-in';

class MeBody extends createZodDto(
  z.object({
    person: z.object({ id: z.string(), name: z.string(), administrator: z.boolean() }),
    employers: z.array(z.object({ id: z.string(), roles: z.array(z.enum(EMPLOYER_ROLES)) })),
  }),
) {}

/** Who am I, and where may I do what. */
@ApiTags('identity')
@Controller('v1/me')
export class MeController {
  @Get()
  @Allow('any')
  @ApiOperation({ summary: 'The signed-in person, with every employer and the roles there' })
  @ApiOkResponse({ type: MeBody })
  me(@Me() me: SignedIn): MeBody {
    const employers = [...me.rolesAt].map(([id, roles]) => ({
      id: showId('emp', id),
      roles: [...roles].sort(),
    }));
    return {
      person: { id: showId('per', me.personId), name: me.name, administrator: me.administrator },
      employers: employers.sort((a, b) => (a.id < b.id ? -1 : 1)),
    };
  }
}
